/** A script has limits of memory, stack and time. At a limit it alone ends, with the engine's message. */
import { type Expected, failedBy, returns, checkScenarios, script } from './scenarios.ts';
import { createRunner } from './run-workflow.ts';

const memory: Expected = failedBy('memory_exceeded', 'error');
const recursion: Expected = failedBy('recursion_exceeded', 'error');
const stopped: Expected = failedBy('script_timeout', 'timeout');

checkScenarios('memory', createRunner(), [
  script('a text that doubles', 'let s = "x"; for (;;) s += s', memory),
  script('one text of a gigabyte', 'return "x".repeat(1e9)', memory),
  script('a text that is padded to a gigabyte', 'return "x".padEnd(2 ** 30)', memory),
  script('a list that grows', 'const a = []; for (;;) a.push(new Array(1e5).fill(1.5))', { ends: 'failed' }),
  script('a map that grows', 'const m = new Map(); for (let i = 0; ; i += 1) m.set(i, [i])', { ends: 'failed' }),
  script('a buffer of a terabyte', 'return new ArrayBuffer(2 ** 40).byteLength', memory),
  script('closures that reference each other', 'let f = () => 1; for (;;) { const g = f; f = () => g }', { ends: 'failed' }),
  script(
    'stored regular expressions',
    'const a = []; for (let i = 0; ; i += 1) a.push(new RegExp("a{" + (i % 9) + "}".repeat(1)))',
    { ends: 'failed' },
  ),
  script('memory that is requested again after the error', 'for (;;) { try { "x".repeat(1e9) } catch {} }', stopped),
  script('a split into fifty million parts', 'return "a,".repeat(2e7).split(",").length', { ends: 'failed' }),
]);

checkScenarios('the stack', createRunner(), [
  script('a function that calls itself', 'const f = () => f() + 1; return f()', recursion),
  script('two that call each other', 'const f = () => g() + 1, g = () => f() + 1; return f()', recursion),
  script('a getter that reads itself', 'const a = { get a() { return a.a } }; return a.a', recursion),
  script('a toString that calls itself', 'const a = { toString() { return `${a}` } }; return `${a}`', recursion),
  script('a proxy that reads itself', 'const p = new Proxy({}, { get: (t, k, r) => r[k] }); return p.a', recursion),
  script('JSON that is parsed too deeply', 'return JSON.parse("[".repeat(1e5) + "]".repeat(1e5))', recursion),
  script('a deep list made a text', 'let a = []; for (let i = 0; i < 2e5; i += 1) a = [a]; return String(a)', recursion),
  script('a sort whose comparison sorts', 'const f = () => [2, 1].sort(f)[0]; return f()', recursion),
  script(
    'a recursion that is caught at the bottom',
    'const f = (n) => { try { return f(n + 1) } catch { return n } }; return f(0) > 10',
    returns(true),
  ),
  script(
    'eval within eval',
    'let code = "1"; for (let i = 0; i < 500; i += 1) code = "eval(" + JSON.stringify(code) + ")"; return 1',
    { ends: 'failed' },
  ),
  script('a deeply nested program', 'return Function("return " + "(".repeat(5e4) + "1" + ")".repeat(5e4))()', { ends: 'failed' }),
]);

checkScenarios('time', createRunner(), [
  script('an endless loop', 'for (;;);', stopped),
  script('an endless loop that catches everything', 'for (;;) { try { for (;;); } catch {} finally { continue } }', stopped),
  script('a reverse over 2^53 elements', 'Array.prototype.reverse.call({ length: 2 ** 53 - 1 })', stopped),
  script('a sort of four billion elements', 'const a = []; a.length = 2 ** 32 - 1; a.sort()', stopped),
  script('a number of a million digits', 'return (3n ** 600000n).toString().length', stopped),
  script('String.raw of 2^53 parts', 'String.raw({ raw: { length: 2 ** 53 - 1 } })', stopped),
  script('a search in twenty million letters', 'return ("a".repeat(2e7)).indexOf("a".repeat(1e7) + "b")', stopped),
  script('a backtracking regular expression', 'return /(a+)+$/.test("a".repeat(40) + "b")', stopped),
  script(
    'a backtracking regular expression by replace',
    'return "a".repeat(40).replace(/(a|aa)+$/, () => { for (;;); })',
    stopped,
  ),
  script('a lookbehind over a long text', 'return /(?<=(a+)+)b/.test("a".repeat(40) + "c")', returns(false)),
  script('a replacement that grows its own text', 'let s = "a"; for (;;) s = s.replaceAll("a", "aa")', { ends: 'failed' }),
  script('normalize of a long text', 'return "\\u0344".repeat(5e6).normalize("NFKD").length', { ends: 'failed' }),
  script('a busy wait', 'const until = Date.now() + 60000; while (Date.now() < until); return 1', stopped),
]);
