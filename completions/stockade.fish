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
complete -c stockade -n "__fish_stockade_needs_command" -f -a "completions" -d 'Print a completion script'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "srt" -d 'Take the command lines of srt; the same when called under the name `srt`'
complete -c stockade -n "__fish_stockade_needs_command" -f -a "__witness"
complete -c stockade -n "__fish_stockade_using_subcommand run" -s c -d 'Shell text to run' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l inherit-fd -d 'Let an open descriptor of the caller through' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l events -d 'Write what happens as JSON lines' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l report -d 'Write the outcome as JSON' -r -F
complete -c stockade -n "__fish_stockade_using_subcommand run" -l provider -d 'The kind of sandbox' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l engine -d 'The way the local provider walls a process: native' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l settings -d 'A settings file on top of the user\'s and the project\'s' -r -F
complete -c stockade -n "__fish_stockade_using_subcommand run" -l preset -d 'The policy to start from (see `stockade presets`)' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l cwd -d 'The directory to work in' -r -F
complete -c stockade -n "__fish_stockade_using_subcommand run" -l allow-write -d 'A path that may be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l allow-read -d 'A path that may be read although a rule denies it' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l deny-read -d 'A path that must not be read' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l deny-write -d 'A path that must not be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l env -d 'Set a variable' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l pass-env -d 'Let a variable of the caller through' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l timeout -d 'Kill everything after this many seconds' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l max-file -d 'The largest file that may be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l max-output -d 'Pass on this much output and drop the rest' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l allow-domain -d 'A host that may be reached' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l allow-unix -d 'A unix socket that may be reached' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l memory -d 'Bytes of memory' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l cpus -d 'Processors, with fractions' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l pids -d 'Processes and threads' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l ask -d 'Who answers questions: tty, deny or fd:N' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l publish -d 'Make a port inside reachable from outside' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -l forward-port -d 'Make a port outside reachable from inside' -r
complete -c stockade -n "__fish_stockade_using_subcommand run" -s q -l quiet -d 'Say nothing but errors'
complete -c stockade -n "__fish_stockade_using_subcommand run" -s v -l verbose -d 'Say what was dropped, which walls stand and how it ended'
complete -c stockade -n "__fish_stockade_using_subcommand run" -l tty -d 'Give the command a terminal of its own even where the caller has none'
complete -c stockade -n "__fish_stockade_using_subcommand run" -l overlay -d 'Keep changes in an overlay for review'
complete -c stockade -n "__fish_stockade_using_subcommand run" -s h -l help -d 'Print help'
complete -c stockade -n "__fish_stockade_using_subcommand plan" -s c -d 'Shell text to run' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l inherit-fd -d 'Let an open descriptor of the caller through' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l events -d 'Write what happens as JSON lines' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l report -d 'Write the outcome as JSON' -r -F
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l provider -d 'The kind of sandbox' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l engine -d 'The way the local provider walls a process: native' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l settings -d 'A settings file on top of the user\'s and the project\'s' -r -F
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l preset -d 'The policy to start from (see `stockade presets`)' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l cwd -d 'The directory to work in' -r -F
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l allow-write -d 'A path that may be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l allow-read -d 'A path that may be read although a rule denies it' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l deny-read -d 'A path that must not be read' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l deny-write -d 'A path that must not be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l env -d 'Set a variable' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l pass-env -d 'Let a variable of the caller through' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l timeout -d 'Kill everything after this many seconds' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l max-file -d 'The largest file that may be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l max-output -d 'Pass on this much output and drop the rest' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l allow-domain -d 'A host that may be reached' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l allow-unix -d 'A unix socket that may be reached' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l memory -d 'Bytes of memory' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l cpus -d 'Processors, with fractions' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l pids -d 'Processes and threads' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l ask -d 'Who answers questions: tty, deny or fd:N' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l publish -d 'Make a port inside reachable from outside' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l forward-port -d 'Make a port outside reachable from inside' -r
complete -c stockade -n "__fish_stockade_using_subcommand plan" -s q -l quiet -d 'Say nothing but errors'
complete -c stockade -n "__fish_stockade_using_subcommand plan" -s v -l verbose -d 'Say what was dropped, which walls stand and how it ended'
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l tty -d 'Give the command a terminal of its own even where the caller has none'
complete -c stockade -n "__fish_stockade_using_subcommand plan" -l overlay -d 'Keep changes in an overlay for review'
complete -c stockade -n "__fish_stockade_using_subcommand plan" -s h -l help -d 'Print help'
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l settings -d 'A settings file on top of the user\'s and the project\'s' -r -F
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l preset -d 'The policy to start from (see `stockade presets`)' -r
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l cwd -d 'The directory to work in' -r -F
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l allow-write -d 'A path that may be written' -r
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l allow-read -d 'A path that may be read although a rule denies it' -r
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l deny-read -d 'A path that must not be read' -r
complete -c stockade -n "__fish_stockade_using_subcommand explain" -l deny-write -d 'A path that must not be written' -r
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
complete -c stockade -n "__fish_stockade_using_subcommand completions" -s h -l help -d 'Print help'
