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
complete -c stockade -n "__fish_stockade_needs_command" -f -a "explain" -d 'Say whether a command may read, write or execute a path, and which rule decides'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "presets" -d 'List the presets, or print one'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "schema" -d 'Print the JSON Schema of the settings'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "doctor" -d 'Try every wall on this machine'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "grants" -d 'List what was allowed when somebody was asked, or take it back'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "violations" -d 'List what was refused, in all runs'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "audit" -d 'Show or check the log of decisions'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "completions" -d 'Print a completion script'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "srt" -d 'Take the command lines of srt; the same when called under the name `srt`'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "__witness"
complete -c stockade -n "__fish_stockade_using_subcommand run" -s c -d 'Shell text to run' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l inherit-fd -d 'Let an open descriptor of the caller through' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l events -d 'Write what happens as JSON lines' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l report -d 'Write the outcome as JSON' -r -F
complete -c stockade -n "__fish_stockade_using_subcommand run" -l ask -d 'Who is asked while the command waits: tty, deny, fd:N or fd:IN,OUT' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l ask-timeout -d 'How long an answer is waited for before it is a no' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l provider -d 'The kind of sandbox' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l engine -d 'The way the local provider walls a process: native' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l settings -d 'A settings file on top of the user\'s and the project\'s' -r -F
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
complete -c stockade -n "__fish_stockade_using_subcommand run" -l overlay -d 'Keep changes in an overlay for review'
complete -c stockade -n "__fish_stockade_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c stockade -n "__fish_stockade_using_subcommand plan" -s c -d 'Shell text to run' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l inherit-fd -d 'Let an open descriptor of the caller through' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l events -d 'Write what happens as JSON lines' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l report -d 'Write the outcome as JSON' -r -F
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l ask -d 'Who is asked while the command waits: tty, deny, fd:N or fd:IN,OUT' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l ask-timeout -d 'How long an answer is waited for before it is a no' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l provider -d 'The kind of sandbox' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l engine -d 'The way the local provider walls a process: native' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l settings -d 'A settings file on top of the user\'s and the project\'s' -r -F
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
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l overlay -d 'Keep changes in an overlay for review'
complete -c stockade -n "__fish_stockade_using_subcommand plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l settings -d 'A settings file on top of the user\'s and the project\'s' -r -F
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
complete -c stockade -n "__fish_stockade_using_subcommand completions" -s h -l help -d 'Print help'
