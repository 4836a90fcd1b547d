//! Who opens one file after the other is kept on a core, and nothing of that stays.

use crate::support::each_caller;

/// Makes many files, looks meanwhile where it may run, and starts programs in between.
const BUSY: &str = "import os, subprocess, time
all_cores = os.sched_getaffinity(0)
kept, children = 0, []
for number in range(3000):
    os.close(os.open(f'f{number}', os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC))
    kept += os.sched_getaffinity(0) != all_cores
    if number % 500 == 499:
        inner = 'import os, time; time.sleep(0.3); print(len(os.sched_getaffinity(0)))'
        children.append(subprocess.Popen(['python3', '-c', inner], stdout=subprocess.PIPE))
print('kept', kept > 0 or len(all_cores) == 1)
time.sleep(0.3)
print('everywhere again', os.sched_getaffinity(0) == all_cores)
print('children everywhere', all(int(child.communicate()[0]) == len(all_cores) for child in children))
";

#[test]
fn a_busy_thread_is_kept_on_a_core_and_let_go_again() {
    each_caller(|world| {
        let ran = world.run().program(["python3", "-c", BUSY]);
        ran.exits(0);
        assert_eq!(ran.out(), "kept True\neverywhere again True\nchildren everywhere True\n", "{ran}");
    });
}

#[test]
fn who_chose_a_core_stays_there() {
    each_caller(|world| {
        let script = "import os\n\
            os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n\
            chosen = os.sched_getaffinity(0)\n\
            same = True\n\
            for number in range(500):\n  \
            os.close(os.open(f'f{number}', os.O_CREAT | os.O_WRONLY))\n  \
            same = same and os.sched_getaffinity(0) == chosen\n\
            print(same)\n";
        let ran = world.run().program(["python3", "-c", script]);
        ran.exits(0);
        assert_eq!(ran.out(), "True\n", "{ran}");
    });
}
