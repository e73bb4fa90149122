/** Metrics in the embedded metric format. */
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { EmfMetrics } from '../../lib/aws/metrics.ts';
import { type Metric, metricUnits } from '../../lib/engine/log/run-metrics.ts';
import { noon } from '../contract/samples.ts';
import { createTestEnv, scope, workflow } from '../service/test-env.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';

const value = z.union([z.number(), z.array(z.number()).min(1).max(100)]);
const line = z
  .looseObject({
    _aws: z.strictObject({
      Timestamp: z.int(),
      CloudWatchMetrics: z.tuple([
        z.strictObject({
          Namespace: z.literal('Stepwell'),
          Dimensions: z.tuple([z.array(z.string()).min(1).max(2)]),
          Metrics: z
            .array(z.strictObject({ Name: z.enum(Object.keys(metricUnits)), Unit: z.enum(['Count', 'Milliseconds']) }))
            .min(1),
        }),
      ]),
    }),
  })
  .transform(({ _aws, ...members }) => {
    const [{ Dimensions, Metrics }] = _aws.CloudWatchMetrics;
    return {
      dimensions: Object.fromEntries(Dimensions[0].map((name) => [name, z.string().parse(members[name])])),
      values: Object.fromEntries(Metrics.map(({ Name }) => [Name, [value.parse(members[Name])].flat()])),
      others: Object.keys(members).filter((name) => !Dimensions[0].includes(name) && !Metrics.some(({ Name }) => Name === name)),
    };
  });
const emitted = (measures: readonly Metric[]) => {
  const lines: string[] = [];
  new EmfMetrics((text) => void lines.push(text), 'runs').emit(measures, noon);
  return lines.map((text) => line.parse(JSON.parse(text)));
};

test('metrics with the same dimensions share a line, and a line has at most a hundred values of a metric', () => {
  const ended = { WorkflowName: 'order', Status: 'completed' };
  const measures: Metric[] = Array.from({ length: 250 }, (_, index) => ({
    name: 'RunDuration',
    value: index,
    dimensions: ended,
  }));
  measures.push(
    { name: 'RunsEnded', value: 1, dimensions: ended },
    { name: 'Tags', value: 1, dimensions: { Tag: 'recovered', Severity: 'warn' } },
  );
  const lines = emitted(measures);
  const ofInstallation = { RunsTable: 'runs', Status: 'completed' };
  expect(lines.map(({ dimensions }) => dimensions)).toEqual([
    ended,
    ended,
    ended,
    ofInstallation,
    { Tag: 'recovered', Severity: 'warn' },
  ]);
  expect(lines.flatMap(({ values }) => values['RunDuration'] ?? [])).toEqual(Array.from({ length: 250 }, (_, index) => index));
  expect(lines.flatMap(({ values }) => values['RunsEnded'] ?? [])).toEqual([1, 1]);
  expect(lines.flatMap(({ others }) => others)).toEqual([]);
});

describe('metrics of a run', () => {
  const secret = 'what-a-user-brought';
  const counted = async (answers: readonly ('fails' | 'works')[], end: 'settles' | 'is cancelled' = 'settles') => {
    const it = createTestEnv({
      answer: (_node, attempt) =>
        answers[attempt - 1] === 'fails'
          ? { kind: 'failed', failure: { cause: 'error', message: secret } }
          : { kind: 'finished', output: { value: secret }, handle: 'output' },
    });
    await it.publish(workflow('flow', 'a>b'));
    await it.start({ input: { secret } });
    const [head] = (await it.ports.index.list(scope, { limit: 1 })).heads;
    if (head === undefined) throw new Error('no run was listed');
    if (end === 'is cancelled') await cancelRun(it.worker, head.address, secret);
    else await it.settle();
    const lines = emitted(it.ports.metrics.measures);
    expect(JSON.stringify(lines)).not.toMatch(new RegExp(`${secret}|${head.address.runId}|wrun_`));
    return (name: string) =>
      lines.flatMap(({ dimensions, values }) => (values[name] ?? []).map((each) => [...Object.values(dimensions), each]));
  };

  test('a completed run and its nodes are counted once', async () => {
    const of = await counted(['works']);
    expect(of('RunsStarted')).toEqual([['runs', 1]]);
    expect(of('RunsEnded')).toEqual([
      ['flow', 'completed', 1],
      ['runs', 'completed', 1],
    ]);
    expect(of('RunDuration')).toHaveLength(1);
    expect(of('NodeAttempts')).toEqual([
      ['work', 'completed', 1],
      ['work', 'completed', 1],
    ]);
    expect(of('NodeDuration')).toHaveLength(2);
    expect([of('AttemptsFailed'), of('Tags')]).toEqual([[], []]);
  });

  test('failed attempts are counted with their cause', async () => {
    const of = await counted(['fails', 'works']);
    expect(of('AttemptsFailed')).toEqual([
      ['work', 'error', 1],
      ['work', 'error', 1],
    ]);
    expect(of('NodeAttempts')).toEqual([
      ['work', 'completed', 2],
      ['work', 'completed', 2],
    ]);
    expect(of('Tags')).toEqual([
      ['node_retried', 'warn', 1],
      ['node_retried', 'warn', 1],
    ]);
  });

  test('tokens of models and blocks of moderation are counted', async () => {
    const tokens = { input: 30, output: 4 };
    const it = createTestEnv({
      answer: (node, attempt) =>
        node === 'a' && attempt === 1
          ? {
              kind: 'failed',
              failure: { cause: 'error', message: secret },
              tokens,
              gate: { kind: 'moderation', phase: 'output', decision: { reason: secret } },
            }
          : { kind: 'finished', output: { value: secret }, handle: 'output', tokens },
    });
    await it.publish(workflow('flow', 'a>b'));
    await it.start();
    await it.settle();
    const lines = emitted(it.ports.metrics.measures);
    expect(JSON.stringify(lines)).not.toContain(secret);
    const used = (direction: string) =>
      lines
        .filter(({ dimensions }) => dimensions['WorkflowName'] === 'flow' && dimensions['Direction'] === direction)
        .flatMap(({ values }) => values['TokensUsed']);
    expect([used('input'), used('output')]).toEqual([
      [30, 30, 30],
      [4, 4, 4],
    ]);
    expect(lines.filter(({ dimensions }) => dimensions['Tag'] === 'moderation_flagged').map(({ values }) => values)).toEqual([
      { Tags: [1] },
    ]);
  });

  test('failed and cancelled runs are counted by their status', async () => {
    const failed = await counted(['fails', 'fails', 'fails']);
    expect(failed('RunsEnded')).toEqual([
      ['flow', 'failed', 1],
      ['runs', 'failed', 1],
    ]);
    expect(failed('Tags')).toContainEqual(['node_failed', 'critical', 1]);
    const cancelled = await counted([], 'is cancelled');
    expect(cancelled('RunsEnded')).toEqual([
      ['flow', 'cancelled', 1],
      ['runs', 'cancelled', 1],
    ]);
  });
});
