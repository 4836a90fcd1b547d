//! Who opens one file after the other is kept on a core, and nothing of that stays.

use crate::support::each_caller;

/// Makes many files, looks meanwhile where it may run, and starts programs in between.
const BUSY: &str = "import os, subprocess, time
def told():
    with open('/proc/thread-self/status') as status:
        return [line for line in status if line.startswith('Cpus_allowed:')]
all_cores, everywhere = os.sched_getaffinity(0), told()
kept, children = 0, []
for number in range(3000):
    os.close(os.open(f'f{number}', os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC))
    kept += told() != everywhere
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

/// Programs start as many threads as they are told of cores, once.
#[test]
fn all_cores_are_told_of_at_any_moment() {
    each_caller(|world| {
        let script = "import os, subprocess\n\
            all_cores = os.sched_getaffinity(0)\n\
            wrong, answers = 0, []\n\
            for number in range(2000):\n  \
            os.close(os.open(f'f{number}', os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC))\n  \
            if number % 50 == 49:\n    \
            wrong += os.sched_getaffinity(0) != all_cores\n  \
            if number % 500 == 480:\n    \
            answers.append(subprocess.run(['nproc'], stdout=subprocess.PIPE).stdout)\n    \
            orphan = ['sh', '-c', 'mkfifo p; { nproc > p & } & cat p; rm p']\n    \
            answers.append(subprocess.run(orphan, stdout=subprocess.PIPE).stdout)\n\
            print(wrong, all(int(answer) == len(all_cores) for answer in answers))\n";
        let ran = world.run().program(["python3", "-c", script]);
        ran.exits(0);
        assert_eq!(ran.out(), "0 True\n", "{ran}");
    });
}

/// Wherever whoever started them has gone: a thread that ended, a parent whose children another process takes in.
/// That they make files themselves is no sign of anything.
#[test]
fn nobody_stays_on_one_core() {
    each_caller(|world| {
        let script = "import ctypes, os, subprocess, threading, time\n\
            started, all_cores = [], len(os.sched_getaffinity(0))\n\
            ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)\n\
            look = ['sh', '-c', ': > $0; sleep 0.6; grep Cpus_allowed: /proc/self/status; nproc']\n\
            def make(name):\n  \
            for number in range(300):\n    \
            os.close(os.open(f'{name}{number}', os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC))\n\
            def work(name):\n  \
            make(name)\n  \
            started.append(subprocess.Popen(look + [name + 'x'], stdout=subprocess.PIPE))\n\
            for name in 'abc':\n  \
            thread = threading.Thread(target=work, args=(name,))\n  \
            thread.start()\n  \
            thread.join()\n\
            out, into = os.pipe()\n\
            if os.fork() == 0:\n  \
            make('d')\n  \
            subprocess.Popen(look + ['dx'], stdout=into)\n  \
            os._exit(0)\n\
            os.close(into)\n\
            told = [child.communicate()[0] for child in started] + [os.fdopen(out, 'rb').read()]\n\
            usual = open('/proc/self/status').read()\n\
            for answer in told:\n  \
            status, cores = answer.decode().strip().rsplit('\\n', 1)\n  \
            print(status in usual, int(cores) == all_cores)\n";
        let ran = world.run().program(["python3", "-c", script]);
        ran.exits(0);
        assert_eq!(ran.out(), "True True\n".repeat(4), "{ran}");
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

/// Also who is kept on a core when it chooses, and what such a thread starts.
#[test]
fn nobodys_choice_is_taken_back() {
    each_caller(|world| {
        let script = "import os, subprocess, time\n\
            def make(count):\n  \
            for number in range(count):\n    \
            os.close(os.open(f'f{number}', os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC))\n\
            make(500)\n\
            one = str(max(os.sched_getaffinity(0)))\n\
            child = subprocess.Popen(['taskset', '-c', one, 'sh', '-c', 'sleep 0.3; nproc'], stdout=subprocess.PIPE)\n\
            make(500)\n\
            os.sched_setaffinity(0, [int(one)])\n\
            make(500)\n\
            time.sleep(0.3)\n\
            print(child.communicate()[0], os.sched_getaffinity(0) == {int(one)})\n";
        let ran = world.run().program(["python3", "-c", script]);
        ran.exits(0);
        assert_eq!(ran.out(), "b'1\\n' True\n", "{ran}");
    });
}
