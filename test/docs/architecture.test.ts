/** docs/ARCHITECTURE.md names what is there: every path, function, queue, index and key is looked up. */
import { existsSync, globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  attachmentKey,
  heartbeatKey,
  deltaKey,
  dueHourOf,
  dueKey,
  sharedDueKey,
  headKey,
  logKey,
  projectionKey,
  shards,
  snapshotKey,
} from '../../lib/aws/run-keys.ts';
import { functionNames, runsTableKeys } from '../../lib/contract/environment.ts';
import { recordKinds } from '../../lib/contract/record-kinds.ts';
import { environment, nodeId, nodeKey, projectId, runId, topLevel } from '../../lib/engine/ids.ts';
import { ofType, synthesize } from '../infra/synthesized.ts';
import { quotedIn, read, rowsIn } from './documents.ts';

const text = read('docs/ARCHITECTURE.md');
const root = fileURLToPath(new URL('../..', import.meta.url));

const tops = ['lib', 'functions', 'test', 'docs', 'bin', 'examples', 'scripts', 'bench'];
/** Paths between backquotes that lead nowhere. `<name>` stands for any. */
const lostPaths = (document: string): readonly string[] =>
  quotedIn(document)
    .filter((quoted) => tops.some((top) => quoted === top || quoted.startsWith(`${top}/`)))
    .filter((path) =>
      path.includes('<')
        ? globSync(path.replaceAll(/<[a-z]+>/g, '*'), { cwd: root }).length === 0
        : !existsSync(`${root}/${path}`),
    );

const functionsIn = (document: string): readonly string[] => [
  ...new Set([...document.matchAll(/\bfunctions\/([a-z][a-z-]*)(?![a-z.-])/g)].map(([, name]) => name ?? '')),
];
const queuesIn = (document: string): readonly string[] => [
  ...new Set(quotedIn(document).filter((quoted) => /^[A-Z][A-Za-z]*(Queue|DeadLetters)$/.test(quoted))),
];

describe('paths', () => {
  test('each is there', () => {
    expect(lostPaths(text)).toEqual([]);
  });
  test('one that is not is found', () => {
    expect(lostPaths(`${text}\nsee \`lib/engine/nowhere.ts\`, \`lib/nodes/<type>\` and \`lib/nothing/<type>\``)).toEqual([
      'lib/engine/nowhere.ts',
      'lib/nothing/<type>',
    ]);
  });
});

describe('functions', () => {
  test('are those of the product', () => {
    expect(functionsIn(text).toSorted()).toEqual([...functionNames].toSorted());
  });
  test('one too many is found', () => {
    expect(functionsIn(`${text}\nand \`functions/gather\``)).toContain('gather');
  });
});

describe('queues', () => {
  let made: readonly string[];
  beforeAll(() => {
    made = ofType(synthesize().runtime, 'SQS::Queue').map(({ id }) =>
      id.replace(/^StepwellQueues/, '').replace(/[0-9A-F]{8}$/, ''),
    );
  });
  test('are those of the template', () => {
    expect(queuesIn(text).toSorted()).toEqual(made.toSorted());
  });
  test('one too many is found', () => {
    expect(queuesIn(`${text} \`PriorityQueue\``)).toContain('PriorityQueue');
  });
});

describe('keys', () => {
  const run = {
    projectId: projectId('default'),
    environment: environment('prod'),
    runId: runId('wrun_01KDVDNA0001ZPGCE7HQSG6B6B'),
  };
  const minute = 29_454_480;
  const due = dueKey(run, minute);
  const spelled = (key: { pk: string; sk: string }): string =>
    [key.pk, key.sk]
      .map((part) =>
        part
          .replace(new RegExp(`#${dueHourOf(minute)}#[${shards.join('')}]$`), '#<hour>#<shard>')
          .replace(new RegExp(`^0*${minute}#`), '<minute>#')
          .replace(run.runId, '<runId>')
          .replace(/#[0-9a-f]{32}$/, '#<digest>'),
      )
      .join(' ');
  const node = nodeKey({ nodeId: nodeId('price'), iteration: topLevel });
  const real = [
    headKey(run),
    logKey(run, 'platform', 2),
    attachmentKey(run, 'platform', 'input'),
    heartbeatKey(run, 'platform', node),
    snapshotKey(run, 'platform'),
    deltaKey(run, node, 0),
    projectionKey(run, 'code'),
    logKey(run, 'code', 2),
    due,
    sharedDueKey(run, [run.runId], minute),
    dueKey(run, minute, 'code'),
  ].map((key) => spelled(key).replace(/(heartbeat#|stream#node:).*/, '$1<nodeId>'));
  const tables = (document: string) => rowsIn(document).filter(({ section }) => section === 'Functions, queues, tables');
  const runKeysIn = (document: string): readonly string[] =>
    tables(document)
      .map(({ cells: [pk = '', sk = ''] }) => [pk, sk].flatMap(quotedIn).join(' '))
      .filter((key) => /^(run|code|due|due-code)#/.test(key));

  test('of the Runs table are those that are written', () => {
    expect(runKeysIn(text)).toEqual(real);
  });
  test('one that nobody writes is found', () => {
    expect(runKeysIn(text.replace('`item#input`', '`items#input`'))).not.toEqual(real);
  });
  const controlRows = tables(text).flatMap(({ cells: [kind = '', , path = ''] }) => {
    const [prefix = ''] = quotedIn(kind);
    return /^[a-z-]+#$/.test(prefix) && path.startsWith('`') ? [[prefix.slice(0, -1), quotedIn(path)[0] ?? ''] as const] : [];
  });
  test.each(controlRows)('%s of the Control table is written by %s', (kind, path) => {
    expect(read(path)).toMatch(new RegExp(`partitionOf\\('${kind}'|(summaries|versions): '${kind}'`));
  });
  test('every kind of both tables is there', () => {
    expect(controlRows.map(([kind]) => kind).toSorted()).toEqual(Object.keys(recordKinds.control).toSorted());
    for (const kind of Object.keys(recordKinds.runs)) expect(text, kind).toMatch(new RegExp('`' + kind + '(#|`)'));
  });
  test('indexes', () => {
    for (const { name } of [runsTableKeys.byProject, runsTableKeys.byState]) expect(text).toContain(`\`${name}\``);
  });
});
