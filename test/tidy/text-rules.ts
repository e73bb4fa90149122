/** What is not written in this house: one line a rule, each with an example of what it finds and of what it leaves alone. */
import { type SourceFile, withoutComments } from './source-files.ts';

type Folder = 'lib' | 'functions' | 'bin' | 'scripts' | 'test' | 'examples' | 'bench' | 'docs';

export interface TextRule {
  readonly reason: string;
  readonly folders: readonly Folder[];
  readonly finds: RegExp;
  /** what is looked at: all of it, the code without its comments, or the path */
  readonly in: 'text' | 'code' | 'path';
  readonly planted: readonly string[];
  readonly innocent: readonly string[];
  /** where it is said all the same: the word is another's */
  readonly save?: RegExp;
}

const product: readonly Folder[] = ['lib', 'functions', 'bin'];
const code: readonly Folder[] = [...product, 'scripts', 'test', 'examples', 'bench'];
const everywhere: readonly Folder[] = [...code, 'docs'];

export const textRules: readonly TextRule[] = [
  {
    reason: 'one spelling: cancelled, cancelling, cancellation',
    folders: everywhere,
    in: 'text',
    finds: /cancel(ed|ing|ation)(?![a-z])/i,
    planted: ["status: 'canceled'", 'isCanceled', 'RUN_CANCELED', 'after cancelation'],
    innocent: ['cancelled', 'cancelling', 'cancellation', 'cancels'],
    // A status of that library's contract.
    save: /openworkflow/i,
  },
  {
    reason: 'one spelling: runId, nodeId, startedAt, endedAt',
    folders: product,
    in: 'code',
    finds: /\b(runID|nodeID|RunID|NodeID|started_at|ended_at|run_id|node_id)\b/,
    planted: ['readonly runID: string', "'node_id'", 'row.started_at'],
    innocent: ['runId', 'nodeId', 'startedAt', 'RunId'],
  },
  {
    reason: 'a file is named after what it holds',
    folders: code,
    in: 'path',
    finds: /(^|[-/.])(utils?|helpers?|common|managers?|misc)([-/.]|$)/,
    planted: ['lib/aws/utils.ts', 'lib/service/run-helpers.ts', 'lib/common/x.ts', 'test/manager.test.ts', 'lib/string-util.ts'],
    innocent: ['lib/engine/communal.ts', 'lib/aws/table.ts', 'lib/memory/manage-runs.ts'],
  },
  {
    reason: 'file names are kebab-case',
    folders: code,
    in: 'path',
    finds: /(^|\/)[^/]*[A-Z_][^/]*\.ts$/,
    planted: ['lib/service/startRun.ts', 'lib/service/start_run.ts', 'test/Graph.test.ts'],
    innocent: ['lib/service/runs/start-run.ts', 'test/engine/graphs.test.ts', 'docs/README.md'],
  },
  {
    reason: 'what is not built yet is absent',
    folders: everywhere,
    in: 'text',
    finds: /\b(TODO|FIXME|XXX|HACK)\b/,
    planted: ['// TODO: later', '/* FIXME */', 'XXX'],
    innocent: ['todos', 'a hack saw'],
  },
  {
    reason: 'types carry meaning: no any',
    folders: [...product, 'scripts'],
    in: 'code',
    finds: /\bas any\b|:\s*any\b(?!\s+[a-z])|<any>|\bany\[\]|Array<any>|,\s*any>/,
    planted: ['x as any', 'x: any)', 'x:any;', 'Record<string, any>', 'any[]', '<any>x'],
    innocent: ["joinMode: 'any'", "case 'any':", 'if any of them', 'manyAny: string', '// 0: any free one'],
  },
  {
    reason: 'the compiler is not overruled',
    folders: code,
    in: 'text',
    finds: /@ts-(ignore|expect-error|nocheck)/,
    planted: ['// @ts-ignore', '// @ts-expect-error it is fine', '/* @ts-nocheck */'],
    innocent: ['ts-node', '@ts'],
  },
  {
    reason: 'a lint rule is put aside for one line, by name and with its reason',
    folders: code,
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
    reason: 'no folder of one machine is named',
    folders: everywhere,
    in: 'text',
    finds: /(^|[\s'"`(=:])\/(home|tmp|root|Users)\//m,
    planted: ["readFile('/home/me/x')", '`/tmp/x`', 'see /Users/me/x', '"/root/x"'],
    innocent: ['lib/home/x', "join(tmpdir(), 'x')", 'https://example.com/home/x', '/v1/runs/', '/workflows/'],
  },
  {
    reason: 'no test is skipped or runs alone, and no template is kept as a snapshot',
    folders: ['test'],
    in: 'code',
    finds: /\b(test|it|describe|suite)\.(skip|only|todo|fails)\b|\.toMatch(Inline)?Snapshot\(/,
    planted: ["test.skip('x', run)", "describe.only('x', run)", "it.todo('x')", 'expect(template).toMatchSnapshot()'],
    innocent: ["test('x', run)", 'test.each([1])', 'skip(reason)'],
  },
];

/** A file beyond this does two things. */
export const maxLines = 350;
const lengthCheckedFolders: readonly Folder[] = ['lib', 'functions'];

export const textViolations = (files: readonly SourceFile[]): readonly string[] =>
  files.flatMap((file) => [...textRules.flatMap((rule) => ruleViolations(rule, file)), ...tooLong(file)]);

const isIn = (folders: readonly Folder[], path: string): boolean => folders.some((place) => path.startsWith(`${place}/`));

export const ruleViolations = (rule: TextRule, file: SourceFile): readonly string[] => {
  if (!isIn(rule.folders, file.path) || rule.save?.test(file.path) === true) return [];
  if (rule.in === 'path') return rule.finds.test(file.path) ? [`${file.path}: ${rule.reason}`] : [];
  const text = rule.in === 'code' ? withoutComments(file.text) : file.text;
  return text.split('\n').flatMap((line, index) => {
    const found = rule.finds.exec(line);
    return found === null ? [] : [`${file.path}:${index + 1} says ${found[0].trim()}: ${rule.reason}`];
  });
};

const tooLong = ({ path, text }: SourceFile): readonly string[] => {
  const lines = text.split('\n').length - 1;
  return isIn(lengthCheckedFolders, path) && lines > maxLines
    ? [`${path} has ${lines} lines: more than ${maxLines} are two things`]
    : [];
};
