/** Printed lines are bounded for each attempt, for every node type and every way of printing. */
import type { JsonObject } from '../../lib/engine/json.ts';
import { chain, completes, definition, failedBy, returns, checkScenarios, longTimeout, script } from './scenarios.ts';
import { createRunner } from './run-workflow.ts';

const condition = (expressions: readonly string[]): JsonObject => ({
  id: 'c',
  type: 'condition',
  config: {
    branches: [
      { id: 'yes', conditionLogic: 'OR', conditions: expressions.map((expression) => ({ operator: 'expression', expression })) },
    ],
  },
});
const printing = (characters: number, n: number): string => `console.log("${n} " + "x".repeat(${characters})) && false`;
const many = (count: number, one: (n: number) => string): readonly string[] => Array.from({ length: count }, (_, n) => one(n));
/** Printed characters that do not compress. */
const noise = (n: number): string =>
  `(() => { let s = ''; let v = ${n + 1}; while (s.length < 16000) { v = (v * 1103515245 + 12345) % 2147483648; s += String.fromCharCode(33 + v % 90) } console.log(s); return false })()`;

checkScenarios('prints', createRunner(), [
  definition('sixty expressions of 16,000 characters each', chain(condition(many(60, (n) => printing(16_000, n)))), completes, {
    withinMs: 20_000,
  }),
  definition('sixty expressions of noise that does not compress', chain(condition(many(60, noise))), completes, {
    withinMs: 30_000,
  }),
  definition(
    'a hundred expressions that throw their own text',
    chain(condition(many(100, (n) => `nowhere${n}.${'x'.repeat(2_000)}`))),
    completes,
    { withinMs: 30_000 },
  ),
  definition(
    'an expression of 60,000 characters that throws',
    chain(condition([`null.x /* ${'y'.repeat(60_000)} */`])),
    completes,
  ),
  definition(
    'an expression that throws its line number',
    chain(condition([`(() => { const e = new Error('m'); e.stack = '(script.js:' + '9'.repeat(400) + ':1)'; throw e })()`])),
    completes,
  ),
  definition(
    'an expression whose getter ends the process',
    chain(
      condition([`({ get a() { const e = new Error('m'); e.stack = '(script.js:' + '9'.repeat(400) + ':1)'; throw e } }).a`]),
    ),
    completes,
  ),
  definition(
    'an expression that forges a true result',
    chain(condition([`({ toJSON() { throw { reason: 'json:true' } } }) && false`])),
    completes,
  ),
  script('a hundred thousand lines', 'for (let i = 0; i < 1e5; i += 1) console.log(i); return 1', returns(1), longTimeout),
  script('a hundred thousand empty lines', 'for (let i = 0; i < 1e5; i += 1) console.log(); return 1', returns(1), longTimeout),
  script('one line of ten megabytes', 'console.log("x".repeat(1e7)); return 1', returns(1)),
  script('line feeds in a line', 'console.log("\\n".repeat(1e5)); return 1', returns(1)),
  script('characters of four bytes', 'for (let i = 0; i < 500; i += 1) console.log("😀".repeat(100)); return 1', returns(1)),
  script('half characters', 'for (let i = 0; i < 500; i += 1) console.log("\\ud83d".repeat(100)); return 1', returns(1)),
  script('an object whose toJSON prints', 'console.log({ toJSON() { console.log("inner"); return 1 } }); return 1', returns(1)),
  script(
    'an object that prints itself without end',
    'const a = { toJSON() { console.log(a); return 1 } }; console.log(a); return 1',
    returns(1),
  ),
  script('sixty thousand values in one line', 'console.log(...Array.from({ length: 60000 }, (_, i) => i)); return 1', returns(1)),
  script('lines until it is stopped', 'for (;;) console.log("again")', failedBy('script_timeout', 'timeout')),
  script('console replaced by the script', 'console = { log: null }; globalThis.console = 1; return 1', returns(1)),
  script(
    'console’s function called without console',
    'const { log } = console; [1, 2, 3].forEach(log); return log.call(null, "x") === undefined',
    returns(true),
  ),
  definition(
    'three attempts that each print up to the limit',
    {
      ...chain({
        id: 's',
        type: 'javascript',
        config: {
          code: 'for (let i = 0; i < 1e4; i += 1) console.log("x".repeat(100)); throw 1',
          retry: { attempts: 3, backoffMs: 0 },
        },
      }),
    },
    failedBy('script_threw', 'error'),
  ),
]);
