/** What nodes print is bounded for each attempt, whatever the type and however it is printed. */
import type { JsonObject } from '../../lib/engine/json.ts';
import { chain, completes, drawn, failedBy, gives, hold, patient, script } from './hold.ts';
import { stage } from './play.ts';

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
/** Printed characters that no compression makes small. */
const noise = (n: number): string =>
  `(() => { let s = ''; let v = ${n + 1}; while (s.length < 16000) { v = (v * 1103515245 + 12345) % 2147483648; s += String.fromCharCode(33 + v % 90) } console.log(s); return false })()`;

hold('prints', stage(), [
  drawn('sixty expressions of 16,000 characters each', chain(condition(many(60, (n) => printing(16_000, n)))), completes, {
    withinMs: 20_000,
  }),
  drawn('sixty expressions of noise, which no compression makes small', chain(condition(many(60, noise))), completes, {
    withinMs: 30_000,
  }),
  drawn(
    'a hundred expressions that throw what they are',
    chain(condition(many(100, (n) => `nowhere${n}.${'x'.repeat(2_000)}`))),
    completes,
    { withinMs: 30_000 },
  ),
  drawn('an expression of 60,000 characters that throws', chain(condition([`null.x /* ${'y'.repeat(60_000)} */`])), completes),
  drawn(
    'an expression that throws its line number',
    chain(condition([`(() => { const e = new Error('m'); e.stack = '(script.js:' + '9'.repeat(400) + ':1)'; throw e })()`])),
    completes,
  ),
  drawn(
    'an expression whose getter ends the process',
    chain(
      condition([`({ get a() { const e = new Error('m'); e.stack = '(script.js:' + '9'.repeat(400) + ':1)'; throw e } }).a`]),
    ),
    completes,
  ),
  drawn(
    'an expression that forges a yes',
    chain(condition([`({ toJSON() { throw { reason: 'json:true' } } }) && false`])),
    completes,
  ),
  script('a hundred thousand lines', 'for (let i = 0; i < 1e5; i += 1) console.log(i); return 1', gives(1), patient),
  script('a hundred thousand empty lines', 'for (let i = 0; i < 1e5; i += 1) console.log(); return 1', gives(1), patient),
  script('one line of ten megabytes', 'console.log("x".repeat(1e7)); return 1', gives(1)),
  script('line feeds in a line', 'console.log("\\n".repeat(1e5)); return 1', gives(1)),
  script('characters of four bytes', 'for (let i = 0; i < 500; i += 1) console.log("😀".repeat(100)); return 1', gives(1)),
  script('half characters', 'for (let i = 0; i < 500; i += 1) console.log("\\ud83d".repeat(100)); return 1', gives(1)),
  script('an object whose toJSON prints', 'console.log({ toJSON() { console.log("inner"); return 1 } }); return 1', gives(1)),
  script(
    'an object that prints itself for ever',
    'const a = { toJSON() { console.log(a); return 1 } }; console.log(a); return 1',
    gives(1),
  ),
  script('sixty thousand values in one line', 'console.log(...Array.from({ length: 60000 }, (_, i) => i)); return 1', gives(1)),
  script('before it is stopped', 'for (;;) console.log("again")', failedBy('script_timeout', 'timeout')),
  script('console replaced by the script', 'console = { log: null }; globalThis.console = 1; return 1', gives(1)),
  script(
    'console’s function taken elsewhere',
    'const { log } = console; [1, 2, 3].forEach(log); return log.call(null, "x") === undefined',
    gives(true),
  ),
  drawn(
    'three attempts that each print all they may',
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
