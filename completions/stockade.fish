# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_stockade_global_optspecs
    string join \n h/help V/version
end

function __fish_stockade_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_stockade_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_stockade_using_subcommand
    set -l cmd (__fish_stockade_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c stockade -n "__fish_stockade_needs_command" -s h -l help -d 'Print help'
complete -c stockade -n "__fish_stockade_needs_command" -s V -l version -d 'Print version'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "run" -d 'Run a command behind walls'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "plan" -d 'Print the plan a command would run under, as JSON'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "check" -d 'Say whether a command would run behind walls, without, or not at all, and which rule decides'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "explain" -d 'Say whether a command may read, write or execute a path or reach a host (HOST:PORT), and which rule decides'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "presets" -d 'List the presets, or print one'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "schema" -d 'Print the JSON Schema of the settings'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "doctor" -d 'Try every wall on this machine'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "grants" -d 'List what was allowed when somebody was asked, or take it back'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "violations" -d 'List what was refused, in all runs'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "audit" -d 'Show or check the log of decisions'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "config" -d 'Show, check, trust or import settings'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "diff" -d 'Show what runs with --overlay changed and did not apply'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "apply" -d 'Bring changes that were held back into the workspace'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "discard" -d 'Throw changes away that were held back'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "overlays" -d 'List changes that are held back'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "shell" -d 'Open a shell behind walls, or come back to one'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "exec" -d 'Run a command in a session'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "sessions" -d 'List the sessions that live, make one, or end them'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "completions" -d 'Print a completion script'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "srt" -d 'Take the command lines of srt; the same when called under the name `srt`'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "__host"
complete -c stockade -n "__fish_stockade_needs_command" -f -a "__witness"
complete -c stockade -n "__fish_stockade_using_subcommand run" -s c -d 'Shell text to run' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l inherit-fd -d 'Let an open descriptor of the caller through' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l events -d 'Write what happens as JSON lines' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l report -d 'Write the outcome as JSON' -r -F
complete -c stockade -n "__fish_stockade_using_subcommand run" -l overlay -d 'Hold changes to the workspace back, to be looked at and applied later' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l ask -d 'Who is asked while the command waits: tty, deny, fd:N or fd:IN,OUT' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l ask-timeout -d 'How long an answer is waited for before it is a no' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l provider -d 'The kind of sandbox' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l engine -d 'The way the local provider walls a process: native' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l settings -d 'A settings file on top of the user\'s and the project\'s: Stockade\'s, srt\'s, Claude Code\'s or sandbox.json' -r -F
complete -c stockade -n "__fish_stockade_using_subcommand run" -l preset -d 'The policy to start from (see `stockade presets`)' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l cwd -d 'The directory to work in' -r -F
complete -c stockade -n "__fish_stockade_using_subcommand run" -l allow-write -d 'A path that may be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l allow-read -d 'A path that may be read although a rule denies it' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l deny-read -d 'A path that must not be read' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l deny-write -d 'A path that must not be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l allow-unix -d 'A unix socket that may be reached, or a directory of them' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l allow-domain -d 'A host that may be reached: example.org, *.example.org, example.org:443, 192.0.2.7' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l deny-domain -d 'A host that must not be reached, whatever else allows it' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l publish -d 'Make a port inside reachable on this machine\'s loopback: PORT or HOSTPORT:PORT' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l forward-port -d 'Make a port of this machine\'s loopback reachable inside: PORT or PORT:HOSTPORT' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l trace -d 'Record every refused read, too, at some cost in time' -r -f -a "reads\t''"
complete -c stockade -n "__fish_stockade_using_subcommand run" -l env -d 'Set a variable' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l pass-env -d 'Let a variable of the caller through' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l timeout -d 'Kill everything after this many seconds' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l max-file -d 'The largest file that may be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l max-output -d 'Pass on this much output and drop the rest' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l memory -d 'Bytes of memory' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l cpus -d 'Processors, with fractions' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l pids -d 'Processes and threads' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -s q -l quiet -d 'Say nothing but errors'
complete -c stockade -n "__fish_stockade_using_subcommand run" -s v -l verbose -d 'Say what was dropped, which walls stand and how it ended'
complete -c stockade -n "__fish_stockade_using_subcommand run" -l tty -d 'Give the command a terminal of its own even where the caller has none'
complete -c stockade -n "__fish_stockade_using_subcommand run" -l review -d 'Say at the end what changed in the workspace that this machine may execute later'
complete -c stockade -n "__fish_stockade_using_subcommand run" -l claude -d 'Hear Claude Code\'s settings files, too: the project\'s, yours and the organisation\'s'
complete -c stockade -n "__fish_stockade_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c stockade -n "__fish_stockade_using_subcommand plan" -s c -d 'Shell text to run' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l inherit-fd -d 'Let an open descriptor of the caller through' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l events -d 'Write what happens as JSON lines' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l report -d 'Write the outcome as JSON' -r -F
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l overlay -d 'Hold changes to the workspace back, to be looked at and applied later' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l ask -d 'Who is asked while the command waits: tty, deny, fd:N or fd:IN,OUT' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l ask-timeout -d 'How long an answer is waited for before it is a no' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l provider -d 'The kind of sandbox' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l engine -d 'The way the local provider walls a process: native' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l settings -d 'A settings file on top of the user\'s and the project\'s: Stockade\'s, srt\'s, Claude Code\'s or sandbox.json' -r -F
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l preset -d 'The policy to start from (see `stockade presets`)' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l cwd -d 'The directory to work in' -r -F
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l allow-write -d 'A path that may be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l allow-read -d 'A path that may be read although a rule denies it' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l deny-read -d 'A path that must not be read' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l deny-write -d 'A path that must not be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l allow-unix -d 'A unix socket that may be reached, or a directory of them' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l allow-domain -d 'A host that may be reached: example.org, *.example.org, example.org:443, 192.0.2.7' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l deny-domain -d 'A host that must not be reached, whatever else allows it' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l publish -d 'Make a port inside reachable on this machine\'s loopback: PORT or HOSTPORT:PORT' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l forward-port -d 'Make a port of this machine\'s loopback reachable inside: PORT or PORT:HOSTPORT' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l trace -d 'Record every refused read, too, at some cost in time' -r -f -a "reads\t''"
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l env -d 'Set a variable' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l pass-env -d 'Let a variable of the caller through' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l timeout -d 'Kill everything after this many seconds' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l max-file -d 'The largest file that may be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l max-output -d 'Pass on this much output and drop the rest' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l memory -d 'Bytes of memory' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l cpus -d 'Processors, with fractions' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l pids -d 'Processes and threads' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -s q -l quiet -d 'Say nothing but errors'
complete -c stockade -n "__fish_stockade_using_subcommand plan" -s v -l verbose -d 'Say what was dropped, which walls stand and how it ended'
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l tty -d 'Give the command a terminal of its own even where the caller has none'
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l review -d 'Say at the end what changed in the workspace that this machine may execute later'
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l claude -d 'Hear Claude Code\'s settings files, too: the project\'s, yours and the organisation\'s'
complete -c stockade -n "__fish_stockade_using_subcommand plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c stockade -n "__fish_stockade_using_subcommand check" -s c -d 'Shell text to decide about' -r
complete -c stockade -n "__fish_stockade_using_subcommand check" -l settings -d 'A settings file on top of the user\'s and the project\'s: Stockade\'s, srt\'s, Claude Code\'s or sandbox.json' -r -F
complete -c stockade -n "__fish_stockade_using_subcommand check" -l preset -d 'The policy to start from (see `stockade presets`)' -r
complete -c stockade -n "__fish_stockade_using_subcommand check" -l cwd -d 'The directory to work in' -r -F
complete -c stockade -n "__fish_stockade_using_subcommand check" -l allow-write -d 'A path that may be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand check" -l allow-read -d 'A path that may be read although a rule denies it' -r
complete -c stockade -n "__fish_stockade_using_subcommand check" -l deny-read -d 'A path that must not be read' -r
complete -c stockade -n "__fish_stockade_using_subcommand check" -l deny-write -d 'A path that must not be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand check" -l allow-unix -d 'A unix socket that may be reached, or a directory of them' -r
complete -c stockade -n "__fish_stockade_using_subcommand check" -l allow-domain -d 'A host that may be reached: example.org, *.example.org, example.org:443, 192.0.2.7' -r
complete -c stockade -n "__fish_stockade_using_subcommand check" -l deny-domain -d 'A host that must not be reached, whatever else allows it' -r
complete -c stockade -n "__fish_stockade_using_subcommand check" -l publish -d 'Make a port inside reachable on this machine\'s loopback: PORT or HOSTPORT:PORT' -r
complete -c stockade -n "__fish_stockade_using_subcommand check" -l forward-port -d 'Make a port of this machine\'s loopback reachable inside: PORT or PORT:HOSTPORT' -r
complete -c stockade -n "__fish_stockade_using_subcommand check" -l trace -d 'Record every refused read, too, at some cost in time' -r -f -a "reads\t''"
complete -c stockade -n "__fish_stockade_using_subcommand check" -l env -d 'Set a variable' -r
complete -c stockade -n "__fish_stockade_using_subcommand check" -l pass-env -d 'Let a variable of the caller through' -r
complete -c stockade -n "__fish_stockade_using_subcommand check" -l timeout -d 'Kill everything after this many seconds' -r
complete -c stockade -n "__fish_stockade_using_subcommand check" -l max-file -d 'The largest file that may be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand check" -l max-output -d 'Pass on this much output and drop the rest' -r
complete -c stockade -n "__fish_stockade_using_subcommand check" -l bare -d 'Decide as if the caller asked for no walls'
complete -c stockade -n "__fish_stockade_using_subcommand check" -l json -d 'Print the decision as JSON'
complete -c stockade -n "__fish_stockade_using_subcommand check" -l claude -d 'Hear Claude Code\'s settings files, too: the project\'s, yours and the organisation\'s'
complete -c stockade -n "__fish_stockade_using_subcommand check" -s h -l help -d 'Print help'
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l settings -d 'A settings file on top of the user\'s and the project\'s: Stockade\'s, srt\'s, Claude Code\'s or sandbox.json' -r -F
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l preset -d 'The policy to start from (see `stockade presets`)' -r
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l cwd -d 'The directory to work in' -r -F
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l allow-write -d 'A path that may be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l allow-read -d 'A path that may be read although a rule denies it' -r
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l deny-read -d 'A path that must not be read' -r
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l deny-write -d 'A path that must not be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l allow-unix -d 'A unix socket that may be reached, or a directory of them' -r
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l allow-domain -d 'A host that may be reached: example.org, *.example.org, example.org:443, 192.0.2.7' -r
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l deny-domain -d 'A host that must not be reached, whatever else allows it' -r
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l publish -d 'Make a port inside reachable on this machine\'s loopback: PORT or HOSTPORT:PORT' -r
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l forward-port -d 'Make a port of this machine\'s loopback reachable inside: PORT or PORT:HOSTPORT' -r
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l trace -d 'Record every refused read, too, at some cost in time' -r -f -a "reads\t''"
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l env -d 'Set a variable' -r
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l pass-env -d 'Let a variable of the caller through' -r
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l timeout -d 'Kill everything after this many seconds' -r
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l max-file -d 'The largest file that may be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l max-output -d 'Pass on this much output and drop the rest' -r
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l claude -d 'Hear Claude Code\'s settings files, too: the project\'s, yours and the organisation\'s'
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l read -d 'Only whether it may be read'
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l write -d 'Only whether it may be written'
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l json -d 'Print the answers as JSON'
complete -c stockade -n "__fish_stockade_using_subcommand explain" -s h -l help -d 'Print help'
complete -c stockade -n "__fish_stockade_using_subcommand presets" -s h -l help -d 'Print help'
complete -c stockade -n "__fish_stockade_using_subcommand schema" -s h -l help -d 'Print help'
complete -c stockade -n "__fish_stockade_using_subcommand doctor" -l json -d 'Print the findings as JSON'
complete -c stockade -n "__fish_stockade_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c stockade -n "__fish_stockade_using_subcommand grants; and not __fish_seen_subcommand_from revoke" -l json -d 'Print the grants as JSON'
complete -c stockade -n "__fish_stockade_using_subcommand grants; and not __fish_seen_subcommand_from revoke" -s h -l help -d 'Print help'
complete -c stockade -n "__fish_stockade_using_subcommand grants; and not __fish_seen_subcommand_from revoke" -f -a "revoke" -d 'Take grants back; commands that are running keep what they have'
complete -c stockade -n "__fish_stockade_using_subcommand grants; and __fish_seen_subcommand_from revoke" -l all -d 'All of them'
complete -c stockade -n "__fish_stockade_using_subcommand grants; and __fish_seen_subcommand_from revoke" -s h -l help -d 'Print help'
complete -c stockade -n "__fish_stockade_using_subcommand violations" -l since -d 'Only from this moment on' -r
complete -c stockade -n "__fish_stockade_using_subcommand violations" -l until -d 'Only before this moment' -r
complete -c stockade -n "__fish_stockade_using_subcommand violations" -l kind -d 'Only acts of these kinds: read, write, create, unlink, rename, exec, connect, resolve, unix, syscall, limit' -r
complete -c stockade -n "__fish_stockade_using_subcommand violations" -l path -d 'Only this path, host or glob, and what is below' -r
complete -c stockade -n "__fish_stockade_using_subcommand violations" -l sandbox -d 'Only this sandbox; the beginning of its id is enough' -r
complete -c stockade -n "__fish_stockade_using_subcommand violations" -l program -d 'Only this program: a path, a name or a glob' -r
complete -c stockade -n "__fish_stockade_using_subcommand violations" -l text -d 'Only where the subject, the command or the rule contains this' -r
complete -c stockade -n "__fish_stockade_using_subcommand violations" -l limit -d 'At most so many, the newest' -r
complete -c stockade -n "__fish_stockade_using_subcommand violations" -l all -d 'Those that the settings ignore, too'
complete -c stockade -n "__fish_stockade_using_subcommand violations" -l json -d 'Print them as a JSON array'
complete -c stockade -n "__fish_stockade_using_subcommand violations" -l clear -d 'Forget all of them'
complete -c stockade -n "__fish_stockade_using_subcommand violations" -s h -l help -d 'Print help'
complete -c stockade -n "__fish_stockade_using_subcommand audit; and not __fish_seen_subcommand_from verify show" -s h -l help -d 'Print help'
complete -c stockade -n "__fish_stockade_using_subcommand audit; and not __fish_seen_subcommand_from verify show" -f -a "verify" -d 'Check that no line was changed, moved or removed'
complete -c stockade -n "__fish_stockade_using_subcommand audit; and not __fish_seen_subcommand_from verify show" -f -a "show" -d 'Print what was decided'
complete -c stockade -n "__fish_stockade_using_subcommand audit; and __fish_seen_subcommand_from verify" -l json -d 'Print the result as JSON'
complete -c stockade -n "__fish_stockade_using_subcommand audit; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c stockade -n "__fish_stockade_using_subcommand audit; and __fish_seen_subcommand_from show" -l since -d 'Only from this moment on, such as 2h or 2026-11-15' -r
complete -c stockade -n "__fish_stockade_using_subcommand audit; and __fish_seen_subcommand_from show" -l until -d 'Only before this moment' -r
complete -c stockade -n "__fish_stockade_using_subcommand audit; and __fish_seen_subcommand_from show" -l kind -d 'Only these kinds: start, refusal, ask, answer, grant, revoke, bareRun, end, gap' -r
complete -c stockade -n "__fish_stockade_using_subcommand audit; and __fish_seen_subcommand_from show" -l json -d 'Print the lines as they stand in the log'
complete -c stockade -n "__fish_stockade_using_subcommand audit; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c stockade -n "__fish_stockade_using_subcommand config; and not __fish_seen_subcommand_from show validate trust import" -s h -l help -d 'Print help'
complete -c stockade -n "__fish_stockade_using_subcommand config; and not __fish_seen_subcommand_from show validate trust import" -f -a "show" -d 'Print the settings that hold, all layers together, each with who said it'
complete -c stockade -n "__fish_stockade_using_subcommand config; and not __fish_seen_subcommand_from show validate trust import" -f -a "validate" -d 'Say whether settings files are in order, and what in them would not be heard'
complete -c stockade -n "__fish_stockade_using_subcommand config; and not __fish_seen_subcommand_from show validate trust import" -f -a "trust" -d 'Let project settings loosen, too, as long as they stay as they are now'
complete -c stockade -n "__fish_stockade_using_subcommand config; and not __fish_seen_subcommand_from show validate trust import" -f -a "import" -d 'Write what another tool\'s settings say in Stockade\'s own form'
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from show" -l settings -d 'A settings file on top of the user\'s and the project\'s: Stockade\'s, srt\'s, Claude Code\'s or sandbox.json' -r -F
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from show" -l preset -d 'The policy to start from (see `stockade presets`)' -r
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from show" -l cwd -d 'The directory to work in' -r -F
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from show" -l allow-write -d 'A path that may be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from show" -l allow-read -d 'A path that may be read although a rule denies it' -r
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from show" -l deny-read -d 'A path that must not be read' -r
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from show" -l deny-write -d 'A path that must not be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from show" -l allow-unix -d 'A unix socket that may be reached, or a directory of them' -r
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from show" -l allow-domain -d 'A host that may be reached: example.org, *.example.org, example.org:443, 192.0.2.7' -r
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from show" -l deny-domain -d 'A host that must not be reached, whatever else allows it' -r
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from show" -l publish -d 'Make a port inside reachable on this machine\'s loopback: PORT or HOSTPORT:PORT' -r
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from show" -l forward-port -d 'Make a port of this machine\'s loopback reachable inside: PORT or PORT:HOSTPORT' -r
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from show" -l trace -d 'Record every refused read, too, at some cost in time' -r -f -a "reads\t''"
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from show" -l env -d 'Set a variable' -r
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from show" -l pass-env -d 'Let a variable of the caller through' -r
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from show" -l timeout -d 'Kill everything after this many seconds' -r
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from show" -l max-file -d 'The largest file that may be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from show" -l max-output -d 'Pass on this much output and drop the rest' -r
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from show" -l claude -d 'Hear Claude Code\'s settings files, too: the project\'s, yours and the organisation\'s'
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from show" -l all -d 'List the rules that are built in, too'
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from show" -l json -d 'Print everything as JSON'
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from validate" -l shape -d 'Whose format the files have; told by their keys when not given' -r -f -a "native\t'Stockade\'s own'
srt\t'srt\'s'
claude\t'Claude Code\'s settings.json'
simple\t'sandbox.json'"
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from validate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from trust" -l revoke -d 'Take trust back'
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from trust" -l list -d 'List what was trusted, and whether it still is'
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from trust" -l json -d 'Print the list as JSON'
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from trust" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from import" -s o -l output -d 'Where to write to, instead of standard output; a file that is there is left alone' -r -F
complete -c stockade -n "__fish_stockade_using_subcommand config; and __fish_seen_subcommand_from import" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c stockade -n "__fish_stockade_using_subcommand diff" -l name-only -d 'Only the paths, each with what happened to it'
complete -c stockade -n "__fish_stockade_using_subcommand diff" -l stat -d 'Only the paths, each with how many lines changed'
complete -c stockade -n "__fish_stockade_using_subcommand diff" -l json -d 'A list of the changes as JSON'
complete -c stockade -n "__fish_stockade_using_subcommand diff" -s h -l help -d 'Print help'
complete -c stockade -n "__fish_stockade_using_subcommand apply" -l force -d 'Overwrite what has changed in the workspace meanwhile'
complete -c stockade -n "__fish_stockade_using_subcommand apply" -s q -l quiet -d 'Say nothing but what was left out'
complete -c stockade -n "__fish_stockade_using_subcommand apply" -s h -l help -d 'Print help'
complete -c stockade -n "__fish_stockade_using_subcommand discard" -l all -d 'All overlays of all directories'
complete -c stockade -n "__fish_stockade_using_subcommand discard" -s h -l help -d 'Print help'
complete -c stockade -n "__fish_stockade_using_subcommand overlays" -l json -d 'Print the list as JSON'
complete -c stockade -n "__fish_stockade_using_subcommand overlays" -s h -l help -d 'Print help'
complete -c stockade -n "__fish_stockade_using_subcommand shell" -l name -d 'What the session is called' -r
complete -c stockade -n "__fish_stockade_using_subcommand shell" -l idle -d 'End the session after nobody has used it for this long' -r
complete -c stockade -n "__fish_stockade_using_subcommand shell" -l provider -d 'The kind of sandbox' -r
complete -c stockade -n "__fish_stockade_using_subcommand shell" -l engine -d 'The way the local provider walls a process: native' -r
complete -c stockade -n "__fish_stockade_using_subcommand shell" -l settings -d 'A settings file on top of the user\'s and the project\'s: Stockade\'s, srt\'s, Claude Code\'s or sandbox.json' -r -F
complete -c stockade -n "__fish_stockade_using_subcommand shell" -l preset -d 'The policy to start from (see `stockade presets`)' -r
complete -c stockade -n "__fish_stockade_using_subcommand shell" -l cwd -d 'The directory to work in' -r -F
complete -c stockade -n "__fish_stockade_using_subcommand shell" -l allow-write -d 'A path that may be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand shell" -l allow-read -d 'A path that may be read although a rule denies it' -r
complete -c stockade -n "__fish_stockade_using_subcommand shell" -l deny-read -d 'A path that must not be read' -r
complete -c stockade -n "__fish_stockade_using_subcommand shell" -l deny-write -d 'A path that must not be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand shell" -l allow-unix -d 'A unix socket that may be reached, or a directory of them' -r
complete -c stockade -n "__fish_stockade_using_subcommand shell" -l allow-domain -d 'A host that may be reached: example.org, *.example.org, example.org:443, 192.0.2.7' -r
complete -c stockade -n "__fish_stockade_using_subcommand shell" -l deny-domain -d 'A host that must not be reached, whatever else allows it' -r
complete -c stockade -n "__fish_stockade_using_subcommand shell" -l publish -d 'Make a port inside reachable on this machine\'s loopback: PORT or HOSTPORT:PORT' -r
complete -c stockade -n "__fish_stockade_using_subcommand shell" -l forward-port -d 'Make a port of this machine\'s loopback reachable inside: PORT or PORT:HOSTPORT' -r
complete -c stockade -n "__fish_stockade_using_subcommand shell" -l trace -d 'Record every refused read, too, at some cost in time' -r -f -a "reads\t''"
complete -c stockade -n "__fish_stockade_using_subcommand shell" -l env -d 'Set a variable' -r
complete -c stockade -n "__fish_stockade_using_subcommand shell" -l pass-env -d 'Let a variable of the caller through' -r
complete -c stockade -n "__fish_stockade_using_subcommand shell" -l timeout -d 'Kill everything after this many seconds' -r
complete -c stockade -n "__fish_stockade_using_subcommand shell" -l max-file -d 'The largest file that may be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand shell" -l max-output -d 'Pass on this much output and drop the rest' -r
complete -c stockade -n "__fish_stockade_using_subcommand shell" -l take -d 'Take the terminal over from whoever is connected to it'
complete -c stockade -n "__fish_stockade_using_subcommand shell" -l claude -d 'Hear Claude Code\'s settings files, too: the project\'s, yours and the organisation\'s'
complete -c stockade -n "__fish_stockade_using_subcommand shell" -s h -l help -d 'Print help'
complete -c stockade -n "__fish_stockade_using_subcommand exec" -s c -d 'Shell text to run' -r
complete -c stockade -n "__fish_stockade_using_subcommand exec" -l timeout -d 'End the command after this many seconds' -r
complete -c stockade -n "__fish_stockade_using_subcommand exec" -l background -d 'Begin it, print its number and do not wait'
complete -c stockade -n "__fish_stockade_using_subcommand exec" -s q -l quiet -d 'Say nothing but errors'
complete -c stockade -n "__fish_stockade_using_subcommand exec" -s v -l verbose -d 'Say how it ended, too'
complete -c stockade -n "__fish_stockade_using_subcommand exec" -s h -l help -d 'Print help'
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and not __fish_seen_subcommand_from list new kill output stop" -l json -d 'Print the list as JSON'
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and not __fish_seen_subcommand_from list new kill output stop" -s h -l help -d 'Print help'
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and not __fish_seen_subcommand_from list new kill output stop" -f -a "list" -d 'List the sessions that live; the same as no word at all'
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and not __fish_seen_subcommand_from list new kill output stop" -f -a "new" -d 'Make a session and print its name'
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and not __fish_seen_subcommand_from list new kill output stop" -f -a "kill" -d 'End sessions, and everything in them'
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and not __fish_seen_subcommand_from list new kill output stop" -f -a "output" -d 'Print what a background command has printed'
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and not __fish_seen_subcommand_from list new kill output stop" -f -a "stop" -d 'End a background command'
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from list" -l json -d 'Print the list as JSON'
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from new" -l name -d 'What the session is called' -r
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from new" -l idle -d 'End the session after nobody has used it for this long' -r
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from new" -l provider -d 'The kind of sandbox' -r
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from new" -l engine -d 'The way the local provider walls a process: native' -r
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from new" -l settings -d 'A settings file on top of the user\'s and the project\'s: Stockade\'s, srt\'s, Claude Code\'s or sandbox.json' -r -F
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from new" -l preset -d 'The policy to start from (see `stockade presets`)' -r
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from new" -l cwd -d 'The directory to work in' -r -F
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from new" -l allow-write -d 'A path that may be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from new" -l allow-read -d 'A path that may be read although a rule denies it' -r
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from new" -l deny-read -d 'A path that must not be read' -r
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from new" -l deny-write -d 'A path that must not be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from new" -l allow-unix -d 'A unix socket that may be reached, or a directory of them' -r
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from new" -l allow-domain -d 'A host that may be reached: example.org, *.example.org, example.org:443, 192.0.2.7' -r
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from new" -l deny-domain -d 'A host that must not be reached, whatever else allows it' -r
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from new" -l publish -d 'Make a port inside reachable on this machine\'s loopback: PORT or HOSTPORT:PORT' -r
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from new" -l forward-port -d 'Make a port of this machine\'s loopback reachable inside: PORT or PORT:HOSTPORT' -r
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from new" -l trace -d 'Record every refused read, too, at some cost in time' -r -f -a "reads\t''"
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from new" -l env -d 'Set a variable' -r
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from new" -l pass-env -d 'Let a variable of the caller through' -r
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from new" -l timeout -d 'Kill everything after this many seconds' -r
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from new" -l max-file -d 'The largest file that may be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from new" -l max-output -d 'Pass on this much output and drop the rest' -r
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from new" -l claude -d 'Hear Claude Code\'s settings files, too: the project\'s, yours and the organisation\'s'
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from new" -s h -l help -d 'Print help'
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from kill" -l all -d 'All of them'
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from kill" -s h -l help -d 'Print help'
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from output" -l follow -d 'Go on until it ends, and end with its exit status'
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from output" -s h -l help -d 'Print help'
complete -c stockade -n "__fish_stockade_using_subcommand sessions; and __fish_seen_subcommand_from stop" -s h -l help -d 'Print help'
complete -c stockade -n "__fish_stockade_using_subcommand completions" -s h -l help -d 'Print help'
