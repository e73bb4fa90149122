/** Text rules: what no file may contain. Each rule has examples that it must find and examples that it must not find. */
import { type SourceFile, withoutComments } from './source-files.ts';

type Folder = 'lib' | 'functions' | 'bin' | 'scripts' | 'test' | 'examples' | 'bench' | 'docs';

export interface TextRule {
  readonly reason: string;
  readonly folders: readonly Folder[];
  readonly finds: RegExp;
  /** which part of a file the rule reads: all of it, the code without comments, or the path */
  readonly in: 'text' | 'code' | 'path';
  readonly planted: readonly string[];
  readonly innocent: readonly string[];
  /** paths that are exempt, because another product defines the word */
  readonly exempt?: RegExp;
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
    // The library openworkflow spells this status with one l.
    exempt: /openworkflow/i,
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
    reason: 'a file is named after what it contains',
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
    reason: 'no notes about work to do: the code has what exists',
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
    reason: 'no compiler error is suppressed',
    folders: code,
    in: 'text',
    finds: /@ts-(ignore|expect-error|nocheck)/,
    planted: ['// @ts-ignore', '// @ts-expect-error it is fine', '/* @ts-nocheck */'],
    innocent: ['ts-node', '@ts'],
  },
  {
    reason: 'a lint rule is disabled for one line, by name, with a reason',
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
    reason: 'no path of one machine',
    folders: everywhere,
    in: 'text',
    finds: /(^|[\s'"`(=:])\/(home|tmp|root|Users)\//m,
    planted: ["readFile('/home/me/x')", '`/tmp/x`', 'see /Users/me/x', '"/root/x"'],
    innocent: ['lib/home/x', "join(tmpdir(), 'x')", 'https://example.com/home/x', '/v1/runs/', '/workflows/'],
  },
  {
    reason: 'a term of docs/GLOSSARY.md replaced this word',
    folders: [...product, 'scripts', 'docs'],
    in: 'text',
    finds:
      /\b(whoever|whence|wherever|whereby|anew|(is|are|was|were) told|comes? to nothing|troubles?|mend(ed|s)?|tended|signs? of life|beats? for|(a|the) beat|nudges?|seats?|in hands?|puts? off|(lies|lay) there|(stands|stood) still|last duties|last word|strangers?|spill(ed|s)?|driveCode|NudgeJob|DriveJob|carryOut|PLACE_(AWAITED|TAKEN)|fetch runs?|polled runs?)\b/i,
    planted: [
      '/** Leaves a nudge for whoever comes next. */',
      '// What is told of a seat.',
      'The worker writes a beat.',
      "throw new Error('the drive was put off');",
      'const job: NudgeJob = next;',
      'A fetch run has messages.',
    ],
    innocent: [
      'The worker sends a heartbeat.',
      'a deferred workflow task',
      'a reader lease',
      'fetch the run',
      'beatific',
      'amendments',
    ],
  },
  {
    reason: 'no test is skipped or runs alone, and no template is compared with a snapshot',
    folders: ['test'],
    in: 'code',
    finds: /\b(test|it|describe|suite)\.(skip|only|todo|fails)\b|\.toMatch(Inline)?Snapshot\(/,
    planted: ["test.skip('x', run)", "describe.only('x', run)", "it.todo('x')", 'expect(template).toMatchSnapshot()'],
    innocent: ["test('x', run)", 'test.each([1])', 'skip(reason)'],
  },
];

export const textViolations = (files: readonly SourceFile[]): readonly string[] =>
  files.flatMap((file) => textRules.flatMap((rule) => ruleViolations(rule, file)));

const isIn = (folders: readonly Folder[], path: string): boolean => folders.some((folder) => path.startsWith(`${folder}/`));

export const ruleViolations = (rule: TextRule, file: SourceFile): readonly string[] => {
  if (!isIn(rule.folders, file.path) || rule.exempt?.test(file.path) === true) return [];
  if (rule.in === 'path') return rule.finds.test(file.path) ? [`${file.path}: ${rule.reason}`] : [];
  const text = rule.in === 'code' ? withoutComments(file.text) : file.text;
  return text.split('\n').flatMap((line, index) => {
    const found = rule.finds.exec(line);
    return found === null ? [] : [`${file.path}:${index + 1} says ${found[0].trim()}: ${rule.reason}`];
  });
};
