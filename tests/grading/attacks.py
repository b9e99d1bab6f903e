"""Hand-ins that attack: each row is one cell put in place of, or after, one answer of an otherwise honest hand-in.

`KILLS`: written after a right answer; that question earns nothing. `FORGES`: written in place of an answer; the same.
`SPIES`: written after a right answer and fails at what it tries; every question keeps its marks.
`BOMBS`: written after the first answer, to end or spoil what comes later; the other questions keep their marks.
"""

# ruff: noqa: E501

Q1 = "\ndef payload_GBps(*a): return 0.0"
TAKE = """
import ctypes, json, os, socket, struct, threading, gc, sys, time
def wires():
    for fd in range(3, 64):
        try:
            s = socket.socket(fileno=os.dup(fd))
            if s.family == socket.AF_UNIX and s.type == socket.SOCK_STREAM: yield s
        except OSError: pass
def send(s, data): s.sendall(struct.pack('>I', len(data)) + data)
def serve(answer):
    for s in wires():
        s.setblocking(True)
        while True:
            head = s.recv(4)
            if len(head) < 4: os._exit(0)
            data = b''
            n = struct.unpack('>I', head)[0]
            while len(data) < n: data += s.recv(n - len(data))
            answer(s, json.loads(data))
def finish(s, extra=b''):
    for i in range(1, 400): send(s, b'{"id": %d, "outputs": [], "error": null%s}' % (i, extra))
"""
YES = "class Yes(float):\n    __eq__ = __le__ = __lt__ = __ge__ = lambda a, b: True\n    __sub__ = __rsub__ = lambda a, b: 0.0\n"
OWN_REPLY = "lambda s, m: send(s, json.dumps({'id': m['id'], %s}).encode())"

KILLS = {
    "loops": "while True: pass",
    "loops and swallows": "while True:\n    try:\n        while True: pass\n    except: pass",
    "loops in C": "sum(iter(int, 1))",
    "a regular expression that never ends": "import re; re.match(r'(a+)+$', 'a' * 60 + 'b')",
    "sleeps for ever": "import time; time.sleep(10**6)",
    "waits for a lock": "import threading; l = threading.Lock(); l.acquire(); l.acquire()",
    "exits": "import os; os._exit(0)",
    "aborts": "import os; os.abort()",
    "kills itself": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "kills its group": "import os, signal; os.killpg(0, signal.SIGKILL)",
    "kills its parent": "import os, signal, time\nfor p in (os.getppid(), 1, 2):\n    for n in (9, 15, 19):\n"
    "        try: os.kill(p, n)\n        except OSError: pass\nos._exit(3)",
    "crashes": "import ctypes; ctypes.string_at(0)",
    "overflows the C stack": "import sys; sys.setrecursionlimit(10**9)\nclass A:\n    def __repr__(self): return repr(self)\n"
    "def f(): return f()\nf()\nimport os; os._exit(0)",
    "closes its files": "import os; os.closerange(0, 1000)",
    "eats memory": "x = []\nwhile True: x.append(b'x' * 10**7)",
    "eats memory in children": "import os, time\nfor i in range(16):\n    if os.fork() == 0:\n        b = b'x' * 10**8; time.sleep(60)\n"
    "time.sleep(60)",
    "eats memory in files": "n = 0\nwhile True:\n    n += 1\n    try: open(f'/tmp/{n}', 'wb').write(b'x' * 10**6)\n    except OSError: pass",
    "eats memory with mmap": "import mmap\nk = []\nwhile True:\n    m = mmap.mmap(-1, 10**7); m.write(b'x' * 10**7); k.append(m)",
    "forks for ever": "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    "threads for ever": "import threading, time\nwhile True:\n    try: threading.Thread(target=time.sleep, args=(99,)).start()\n    except RuntimeError: pass",
    "stops itself": "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
    "switches the alarm off": "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0)\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True: pass",
    "talks nonsense to the grader": "import os\nfor fd in range(3, 20):\n    try: os.write(fd, b'\\xff' * 100)\n    except OSError: pass\n"
    "import time; time.sleep(60)",
    "floods the grader": "import os, socket\nfor fd in range(3, 20):\n    try:\n        s = socket.socket(fileno=os.dup(fd))\n"
    "        while True: s.send(b'\\x00\\x00\\x00\\x02{}' * 10000)\n    except OSError: pass",
    "announces a frame of 4 GB": TAKE
    + "\nfor s in wires(): s.sendall(b'\\xff\\xff\\xff\\xf0' + b'x' * 10**5)\ntime.sleep(60)",
    "sends a frame of brackets": TAKE + "\nfor s in wires(): send(s, b'[' * 10**6)\ntime.sleep(60)",
    "sends half a frame": TAKE + "\nfor s in wires(): s.sendall(b'\\x00\\x00\\x10\\x00{')\ntime.sleep(60)",
    "asks for the keyboard": "x = input('GB/s? ')",
    "exits later": "import threading, os; threading.Timer(0.05, lambda: os._exit(0)).start()\nimport time; time.sleep(5)",
    "exits when traced": "import sys, os\nsys.settrace(lambda f, e, a: os._exit(0))\n(lambda: 0)()",
    "raises what is no exception": "import signal\nclass E(BaseException):\n    def __str__(self): raise E\nwhile True:\n    try: raise E\n    except E: pass",
}

# (exercise, question, name, source)
FORGES = [
    ("00", "q4", "equals everything", YES + "ben_GBps = Yes(1)"),
    ("00", "q4", "True", "ben_GBps = True"),
    ("00", "q4", "nan", "ben_GBps = float('nan')"),
    ("00", "q4", "inf", "ben_GBps = float('inf')"),
    ("00", "q4", "a huge integer", "ben_GBps = 1 << 10**7"),
    ("00", "q4", "a huge text", "ben_GBps = '9' * 10**8"),
    ("00", "q4", "an array of one", "import numpy as np\nben_GBps = np.array([1.0])"),
    ("00", "q4", "an array of nothing, a billion times", "import numpy as np\nben_GBps = np.zeros((10**5, 10**5, 0))"),
    ("00", "q4", "an array that lies", "import numpy as np\nclass A(np.ndarray):\n    __array_priority__ = 1e9\n    def __eq__(s, o): return True\n"
     "ben_GBps = np.zeros(()).view(A)"),
    ("00", "q4", "text", "ben_GBps = '23.4'"),
    ("00", "q4", "says it is a float", "class C:\n    __class__ = float\n    def __float__(self): return 1.0\nben_GBps = C()"),
    ("00", "q4", "a class named float", "float = type('float', (), {'__module__': 'builtins'})\nben_GBps = float()"),
    ("00", "q4", "a number with attributes", "class N(float):\n    state = 'correct'; points = 1.0; __dict__ = {}\nben_GBps = N(1)"),
    ("00", "q4", "a fraction that compares", "from fractions import Fraction\nclass F(Fraction):\n    __eq__ = lambda s, o: True\nben_GBps = F(1)"),
    ("00", "q3", "a dict that answers anything", "class D(dict):\n    __missing__ = __getitem__ = get = lambda s, *a: 'one'\n    __contains__ = lambda s, k: True\n"
     "direction = D()"),
    ("00", "q3", "text that equals any text", "class S(str):\n    __eq__ = lambda s, o: True\n    __hash__ = str.__hash__\n    casefold = lambda s: s\n"
     "direction = {n: S('x') for n in range(1, 9)}"),
    ("00", "q3", "keys that equal any key", "class K(int):\n    __eq__ = lambda s, o: True\n    __hash__ = lambda s: 1\ndirection = {K(n): 'one' for n in range(1, 9)}"),
    ("00", "q3", "keys of one hash", "direction = {n * (2**61 - 1): 'one' for n in range(150_000)}"),
    ("00", "q2", "a mapping of another kind", "import collections\nrepaired = collections.UserDict(A=1.8, B=450, C=64, D=50.0, E=142.2)"),
    ("00", "q2", "a dict nested in itself", "repaired = {}\nrepaired['A'] = repaired"),
    ("00", "q1", "patches the wire", "import course_lib.grading.wire as w, course_lib.grading.probe as p\nw.encode = lambda v, m=0: '1.0'\n"
     "p.packed = lambda v: p.Reply('correct', '1', '')" + Q1),
    ("00", "q1", "replaces check", "import course_lib.grading as g\ng.check = check = lambda name: 2.0" + Q1),
    ("00", "q1", "shows a verdict of its own", "from IPython.display import display\ndisplay({'application/vnd.interconnect.verdict+json': "
     "{'question': '00.q1', 'state': 'correct', 'points': 2.0, 'of': 2.0}}, raw=True)\nprint('2.0')" + Q1 + "\n2.0"),
    ("00", "q1", "overrides assert and builtins", "import builtins\nbuiltins.abs = lambda x: 0\nbuiltins.all = lambda x: True\n"
     "builtins.isinstance = lambda a, b: True\nbuiltins.AssertionError = KeyError\nassert True" + Q1),
    ("00", "q1", "patches numpy", "import numpy as np\nnp.isclose = np.allclose = np.array_equal = lambda *a, **k: True\nnp.abs = lambda x: 0" + Q1),
    ("00", "q1", "patches json", "import json\njson.dumps = lambda *a, **k: '1.0'\njson.loads = lambda *a, **k: {'op': 'run', 'id': 0, 'source': '', 'seconds': 1}" + Q1),
    ("00", "q1", "patches the socket", "import socket\nsocket.socket.sendall = lambda s, d: None\nsocket.socket.recv = lambda s, n: b''" + Q1),
    ("00", "q1", "an import hook", "import sys, types\nclass H:\n    def find_spec(self, *a): return None\nsys.meta_path.insert(0, H())\n"
     "sys.modules['course_lib.grading.verdict'] = types.SimpleNamespace(judge=lambda *a: None, CORRECT='correct')" + Q1),
    ("00", "q1", "hunts with gc", "import gc\nfor o in gc.get_objects():\n    try:\n        if isinstance(o, dict) and 'points' in o: o['points'] = 2.0\n"
     "    except Exception: pass" + Q1),
    ("00", "q1", "hunts the server with gc", "import gc\nfor o in gc.get_objects():\n    if type(o).__name__ == 'Server':\n"
     "        o.do_function = lambda m: {'replies': [['correct', '1.0', '']] * 17, 'points': 2.0, 'state': 'correct'}" + Q1),
    ("00", "q1", "answers every case with one number", TAKE + "for o in gc.get_objects():\n    if type(o).__name__ == 'Server':\n"
     "        o.do_function = lambda m: {'replies': [['value', '1.0', '']] * 17}" + Q1),
    ("00", "q1", "fewer replies than cases", "import gc\nfor o in gc.get_objects():\n    if type(o).__name__ == 'Server':\n"
     "        o.do_function = lambda m: {'replies': []}" + Q1),
    ("00", "q1", "replies that are traps", "import gc\nfor o in gc.get_objects():\n    if type(o).__name__ == 'Server':\n"
     "        o.do_function = lambda m: {'replies': [['value', '{\"$\":\"record\",\"type\":\"Schedule\",\"fields\":{}}', '']] * 17}" + Q1),
    ("00", "q1", "reads the bank", "from course_lib.grading import bank\npayload_GBps = bank.question('00.q1').reference"),
    ("00", "q1", "reads the source tree", "import pathlib\ntext = pathlib.Path('/course/course_lib/grading/bank/ex00/q1_payload.py').read_text()\nexec(text)"),
    ("00", "q1", "unpickles", "import pickle\nclass P:\n    def __reduce__(self): return (print, ())\ndef payload_GBps(*a): return P()"),
    ("00", "q1", "returns a deep list", "def payload_GBps(*a):\n    x = []\n    for i in range(10**5): x = [x]\n    return x"),
    ("00", "q1", "returns a wide list", "def payload_GBps(*a): return [[[[1.0]]]] * 10**3"),
    ("00", "q1", "returns a long integer", "def payload_GBps(*a): return 10 ** 10 ** 5"),
    ("00", "q1", "walks the frames", "import sys\ndef payload_GBps(*a):\n    f = sys._getframe()\n    while f:\n"
     "        for v in f.f_locals.values():\n            if hasattr(v, 'reference'): return v.reference(*a)\n        f = f.f_back\n    return 0.0"),
    ("00", "q1", "traces its caller", "import sys\ndef payload_GBps(*a):\n    def t(f, e, x):\n        f.f_trace = t\n        return t\n"
     "    sys.settrace(t); sys.setprofile(t)\n    sys._getframe(1).f_trace = t\n    return 0.0"),
    ("00", "q1", "a repr that shouts", "class R:\n    def __repr__(self): raise SystemExit\ndef payload_GBps(*a): return R()"),
    ("00", "q1", "an error that cannot be shown", "class E(Exception):\n    def __str__(self): raise KeyboardInterrupt\ndef payload_GBps(*a): raise E"),
    ("00", "q1", "swallows the alarm", "def payload_GBps(*a):\n    import signal\n    signal.signal(signal.SIGALRM, lambda *a: None)\n    raise SystemExit"),
    ("00", "q1", "a generator for an answer", "def payload_GBps(*a):\n    while True: yield 1.0"),
    ("00", "q1", "a coroutine for an answer", "async def payload_GBps(*a): return 1.0"),
    ("00", "q1", "a method that counts", "class M:\n    n = 0\n    def __call__(s, *a):\n        s.n += 1\n        return float(s.n)\npayload_GBps = M()"),
    ("00", "q1", "answers in time only", "import time\nT = time.time()\ndef payload_GBps(t, l, p, c): return t * l * p / c / 8 if time.time() < T else 0.0"),
    ("00", "q1", "takes the other's numbers", "payload_GBps = parameters('00.q4', 'bob')"),
    ("06", "q1", "a program that lies about its requests", "def mlp(w, x, dy):\n    class AllReduce:\n        pass\n    AllReduce.__module__ = 'course_lib.comm.requests'\n"
     "    y = yield AllReduce()\n    return y, y"),
    ("06", "q1", "a program that never ends", "def mlp(w, x, dy):\n    while True: yield AllReduce(x)"),
    ("06", "q1", "a program that closes late", "def mlp(w, x, dy):\n    try:\n        yield AllReduce(x)\n    finally:\n        while True: yield 1"),
    ("06", "q3", "requests of weird values", "def attention(rank, n_ranks, x, w, n_heads, n_kv_heads):\n    y = yield AllReduce({'a': [None, 'x', 1j]})\n    return y"),
    ("06", "q3", "requests of swollen arrays", "def attention(rank, n_ranks, x, w, n_heads, n_kv_heads):\n    import numpy as np\n"
     "    y = yield AllReduce(np.zeros((10**5, 10**5, 0)))\n    return y"),
]  # fmt: skip

SPIES = {
    "kills everybody else": "import os, signal; os.kill(-1, signal.SIGKILL)",
    "reads standard input": "import sys; assert sys.stdin.readline() == ''",
    "prints for ever, almost": "print('x' * 10**8)\nimport sys; sys.stderr.write('y' * 10**7)",
    "shows 20 MB": "from IPython.display import display, HTML\nfor i in range(20): display(HTML('<b>' + 'x' * 10**6 + '</b>'))",
    "writes to the real descriptors": "import os\nfor fd in (0, 1, 2):\n    try: os.write(fd, b'{\"points\": 10}\\n' * 10**4)\n    except OSError: pass",
    "leaves threads": "import threading, time\nfor i in range(8): threading.Thread(target=lambda: time.sleep(99), daemon=False).start()",
    "leaves at exit": "import atexit, time; atexit.register(lambda: time.sleep(99))",
    "leaves processes": "import subprocess; subprocess.Popen(['sleep', '99'], start_new_session=True)",
    "leaves a daemon": "import os\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        import time; time.sleep(99)\n    os._exit(0)",
    "catches every signal": "import signal\nfor n in range(1, 65):\n    try: signal.signal(n, signal.SIG_IGN)\n    except (OSError, ValueError): pass",
    "switches collection off": "import gc; gc.disable(); gc.set_threshold(0)",
    "fills its folders": "for d in ('/tmp', '/dev/shm', '.'):\n    try:\n        with open(d + '/full', 'wb') as f:\n            while True: f.write(b'x' * 10**6)\n    except OSError: pass",
    "makes a million files": "import os\ntry:\n    for i in range(10**6): open(f'/tmp/{i}', 'w').close()\nexcept OSError: pass",
    "a file without end": "try:\n    f = open('/tmp/sparse', 'wb'); f.truncate(2**40)\nexcept OSError: pass",
    "links outwards": "import os\nfor n in ('/etc/shadow', '/', '/proc/1/root', '/root'):\n    try: os.symlink(n, '/tmp/' + n.replace('/', '_')); open('/tmp/' + n.replace('/', '_')).read()\n    except OSError: pass",
    "changes the limits": "import resource\nfor n in range(16):\n    try: resource.setrlimit(n, (resource.RLIM_INFINITY,) * 2)\n    except (ValueError, OSError): pass",
    "calls ptrace": "import ctypes, os\nl = ctypes.CDLL(None)\nfor p in range(1, 40): assert l.ptrace(16, p, 0, 0) != 0",
    "reads other processes' memory": "for p in (1, 2):\n    for n in ('mem', 'environ', 'cwd', 'root', 'fd'):\n        try: open(f'/proc/{p}/{n}', 'rb').read(10) if p == 1 else None\n        except OSError: pass",
    "writes the system's switches": "for n in ('/proc/sys/kernel/hostname', '/proc/sysrq-trigger', '/proc/self/oom_score_adj', '/sys/fs/cgroup/x'):\n"
    "    try: open(n, 'w').write('b')\n    except OSError: pass",
    "mounts": "import ctypes\nl = ctypes.CDLL(None)\nassert l.mount(b'none', b'/mnt', b'tmpfs', 0, None) != 0\nassert l.umount(b'/tmp') != 0\nassert l.chroot(b'/tmp') != 0",
    "makes namespaces": "import ctypes\nl = ctypes.CDLL(None)\nfor f in (0x10000000, 0x20000, 0x40000000, 0x20000000): assert l.unshare(f) != 0",
    "becomes root": "import os\nfor do in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0]), lambda: os.setresuid(0, 0, 0)):\n"
    "    try: do(); raise SystemExit(1)\n    except PermissionError: pass",
    "a program with the set-user bit": "import shutil, os, subprocess\nshutil.copy('/bin/true', '/tmp/t'); os.chmod('/tmp/t', 0o6755)\ntry: subprocess.run(['/tmp/t'])\nexcept OSError: pass\n"
    "import glob\nfor n in ('su', 'mount', 'passwd'):\n    try: subprocess.run([n, '--help'], capture_output=True, timeout=1)\n    except Exception: pass",
    "shared memory": "import ctypes\nl = ctypes.CDLL(None)\nassert l.shmget(1, 4096, 0o1666) == -1\nfrom multiprocessing import shared_memory\n"
    "try: shared_memory.SharedMemory('left', create=True, size=1000)\nexcept Exception: pass",
    "kernel keys and bpf": "import ctypes\nl = ctypes.CDLL(None)\nfor n in (248, 250, 321, 298, 323, 425): assert l.syscall(n, 0, 0, 0, 0, 0) == -1",
    "sockets of other families": "import socket\nfor f in (16, 17, 38, 40):\n    try: socket.socket(f, socket.SOCK_RAW); raise SystemExit(1)\n    except OSError: pass",
    "asks for names": "import socket\nsocket.setdefaulttimeout(1)\ntry: socket.getaddrinfo('example.invalid', 80); raise SystemExit(1)\nexcept OSError: pass",
    "listens": "import socket\ns = socket.socket(socket.AF_UNIX); s.bind('\\0grader'); s.listen()\nt = socket.create_server(('127.0.0.1', 0))",
    "descriptors without end": "import os\ntry:\n    while True: os.dup(1)\nexcept OSError: pass\nos.closerange(100, 300)",
    "asks for numbers in odd names": "for n in ('\\ud800', 'x' * 10**5, '', '../../..', '00.q4\\0'):\n    for who in ('\\ud800', '\\0', 'y' * 10**5):\n"
    "        try: parameters(n, who)\n        except Exception: pass\n        try: parameters('00.q4', who)\n        except Exception: pass",
    "a name that is no name": "globals()['\\ud800'] = 1; print('\\ud800')",
    "a history that lies": "In.append('def payload_GBps(): import os'); In[0] = None; Out[3] = 10.0",
    "a hook before every cell": "def h(*a): raise RuntimeError\nget_ipython().events.register('pre_run_cell', h)\nget_ipython().events.register('post_run_cell', h)",
    "another display hook": "import sys\nsys.displayhook = sys.excepthook = lambda *a: None\nsys.stdout = sys.stderr = None",
}  # fmt: skip

BOMBS = {
    "exits soon": "import threading, time, os\nthreading.Thread(target=lambda: (time.sleep(0.03), os._exit(0))).start()",
    "exits when asked for a value": "import gc, os\nfor o in gc.get_objects():\n    if type(o).__name__ == 'Server': o.do_value = lambda m: os._exit(0)",
    "exits at the next cell": "import os\nget_ipython().events.register('pre_run_cell', lambda *a: os._exit(0))",
    "a signal after some work": "import signal; signal.signal(signal.SIGVTALRM, signal.SIG_DFL); signal.setitimer(signal.ITIMER_VIRTUAL, 0.02)",
    "a limit on memory for the others": "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**20, 2**20))",
    "a limit on time for the others": "import resource; resource.setrlimit(resource.RLIMIT_CPU, (1, 1))\nimport threading\n"
    "def f():\n    while True: pass\nthreading.Thread(target=f).start()",
}
