/** What is not written in this house: one line a rule, each with an example of what it finds and of what it leaves alone. */
import { type SourceFile, withoutComments } from './source-files.ts';

type Place = 'lib' | 'functions' | 'bin' | 'scripts' | 'test' | 'examples' | 'bench' | 'docs';

export interface WordRule {
  readonly why: string;
  readonly places: readonly Place[];
  readonly finds: RegExp;
  /** what is looked at: all of it, the code without its comments, or the path */
  readonly in: 'text' | 'code' | 'path';
  readonly planted: readonly string[];
  readonly innocent: readonly string[];
  /** where it is said all the same: the word is another's */
  readonly save?: RegExp;
}

const product: readonly Place[] = ['lib', 'functions', 'bin'];
const code: readonly Place[] = [...product, 'scripts', 'test', 'examples', 'bench'];
const everywhere: readonly Place[] = [...code, 'docs'];

export const wordRules: readonly WordRule[] = [
  {
    why: 'one spelling: cancelled, cancelling, cancellation',
    places: everywhere,
    in: 'text',
    finds: /cancel(ed|ing|ation)(?![a-z])/i,
    planted: ["status: 'canceled'", 'isCanceled', 'RUN_CANCELED', 'after cancelation'],
    innocent: ['cancelled', 'cancelling', 'cancellation', 'cancels'],
    // A status of that library's contract.
    save: /openworkflow/i,
  },
  {
    why: 'one spelling: runId, nodeId, startedAt, endedAt',
    places: product,
    in: 'code',
    finds: /\b(runID|nodeID|RunID|NodeID|started_at|ended_at|run_id|node_id)\b/,
    planted: ['readonly runID: string', "'node_id'", 'row.started_at'],
    innocent: ['runId', 'nodeId', 'startedAt', 'RunId'],
  },
  {
    why: 'a file is named after what it holds',
    places: code,
    in: 'path',
    finds: /(^|[-/.])(utils?|helpers?|common|managers?|misc)([-/.]|$)/,
    planted: ['lib/aws/utils.ts', 'lib/service/run-helpers.ts', 'lib/common/x.ts', 'test/manager.test.ts', 'lib/string-util.ts'],
    innocent: ['lib/engine/communal.ts', 'lib/aws/table.ts', 'lib/memory/manage-runs.ts'],
  },
  {
    why: 'file names are kebab-case',
    places: code,
    in: 'path',
    finds: /(^|\/)[^/]*[A-Z_][^/]*\.ts$/,
    planted: ['lib/service/startRun.ts', 'lib/service/start_run.ts', 'test/Graph.test.ts'],
    innocent: ['lib/service/start-run.ts', 'test/engine/graphs.test.ts', 'docs/README.md'],
  },
  {
    why: 'what is not built yet is absent',
    places: everywhere,
    in: 'text',
    finds: /\b(TODO|FIXME|XXX|HACK)\b/,
    planted: ['// TODO: later', '/* FIXME */', 'XXX'],
    innocent: ['todos', 'a hack saw'],
  },
  {
    why: 'types carry meaning: no any',
    places: [...product, 'scripts'],
    in: 'code',
    finds: /\bas any\b|:\s*any\b(?!\s+[a-z])|<any>|\bany\[\]|Array<any>|,\s*any>/,
    planted: ['x as any', 'x: any)', 'x:any;', 'Record<string, any>', 'any[]', '<any>x'],
    innocent: ["joinMode: 'any'", "case 'any':", 'if any of them', 'manyAny: string', '// 0: any free one'],
  },
  {
    why: 'the compiler is not overruled',
    places: code,
    in: 'text',
    finds: /@ts-(ignore|expect-error|nocheck)/,
    planted: ['// @ts-ignore', '// @ts-expect-error it is fine', '/* @ts-nocheck */'],
    innocent: ['ts-node', '@ts'],
  },
  {
    why: 'a lint rule is put aside for one line, by name and with its reason',
    places: code,
    in: 'text',
    finds: /(es|ox)lint-disable(?!-next-line [a-z/-]+ -- \S)/,
    planted: [
      '// oxlint-disable-next-line no-console',
      '/* oxlint-disable */',
      '// eslint-disable-line eqeqeq -- so',
      '// oxlint-disable-next-line',
    ],
    innocent: ['// oxlint-disable-next-line no-control-regex -- headers may hold none'],
  },
  {
    why: 'no folder of one machine is named',
    places: everywhere,
    in: 'text',
    finds: /(^|[\s'"`(=:])\/(home|tmp|root|Users)\//m,
    planted: ["readFile('/home/me/x')", '`/tmp/x`', 'see /Users/me/x', '"/root/x"'],
    innocent: ['lib/home/x', "join(tmpdir(), 'x')", 'https://example.com/home/x', '/v1/runs/', '/workflows/'],
  },
  {
    why: 'no test is skipped or runs alone, and no template is kept as a snapshot',
    places: ['test'],
    in: 'code',
    finds: /\b(test|it|describe|suite)\.(skip|only|todo|fails)\b|\.toMatch(Inline)?Snapshot\(/,
    planted: ["test.skip('x', run)", "describe.only('x', run)", "it.todo('x')", 'expect(template).toMatchSnapshot()'],
    innocent: ["test('x', run)", 'test.each([1])', 'skip(reason)'],
  },
];

/** A file beyond this does two things. */
export const mostLines = 350;
const lengthPlaces: readonly Place[] = ['lib', 'functions'];

export const wordFaults = (files: readonly SourceFile[]): readonly string[] =>
  files.flatMap((file) => [...wordRules.flatMap((rule) => faultsOf(rule, file)), ...tooLong(file)]);

const isIn = (places: readonly Place[], path: string): boolean => places.some((place) => path.startsWith(`${place}/`));

export const faultsOf = (rule: WordRule, file: SourceFile): readonly string[] => {
  if (!isIn(rule.places, file.path) || rule.save?.test(file.path) === true) return [];
  if (rule.in === 'path') return rule.finds.test(file.path) ? [`${file.path}: ${rule.why}`] : [];
  const text = rule.in === 'code' ? withoutComments(file.text) : file.text;
  return text.split('\n').flatMap((line, index) => {
    const found = rule.finds.exec(line);
    return found === null ? [] : [`${file.path}:${index + 1} says ${found[0].trim()}: ${rule.why}`];
  });
};

const tooLong = ({ path, text }: SourceFile): readonly string[] => {
  const lines = text.split('\n').length - 1;
  return isIn(lengthPlaces, path) && lines > mostLines
    ? [`${path} has ${lines} lines: more than ${mostLines} are two things`]
    : [];
};
