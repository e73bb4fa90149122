/** Starts from the messages of a trigger: one run for each message, with repeated deliveries and in any order. */
import { describe, expect, it } from 'vitest';
import { workflowName } from '../../../lib/engine/ids.ts';
import { triggerOf } from '../../../lib/engine/log/lineage.ts';
import { days, instant } from '../../../lib/engine/time.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import type { Deps } from '../../../lib/service/deps.ts';
import { type MessageOutcome, type TriggerMessage, startFromMessages } from '../../../lib/service/runs/start-from-messages.ts';
import type { StoredTrigger } from '../../../lib/triggers/setting.ts';
import { overrideMethods } from '../override-methods.ts';
import { createTestEnv, scope, workflow } from '../test-env.ts';

const trigger: StoredTrigger = {
  name: 'orders',
  kind: 'queue',
  queueArn: 'arn:aws:sqs:eu-west-1:111122223333:orders',
  deadLetterUrl: 'https://sqs.example.com/dead',
  ...scope,
  workflowName: workflowName('flow'),
};

const message = (id: string, more: Partial<TriggerMessage> = {}): TriggerMessage => ({
  id,
  body: JSON.stringify({ order: id }),
  sentAt: instant(1_767_225_600_000),
  attributes: {},
  receives: 1,
  ...more,
});

const messages = (count: number, more: Partial<TriggerMessage> = {}) =>
  Array.from({ length: count }, (_, index) => message(`m${index}`, more));

async function envWith(wrap: (deps: Deps) => Deps = (deps) => deps) {
  const env = createTestEnv({ wrap });
  await env.publish({ ...workflow('flow', 'a>b'), options: { args: [{ name: 'order', type: 'string', required: true }] } });
  const start = (received: readonly TriggerMessage[], of: Partial<StoredTrigger> = {}) =>
    startFromMessages(env.worker, { ...trigger, ...of }, received);
  return { env, start };
}

const kinds = (outcomes: readonly MessageOutcome[]) => outcomes.map(({ kind }) => kind);
const runIds = (outcomes: readonly MessageOutcome[]) => outcomes.flatMap((one) => (one.kind === 'started' ? [one.runId] : []));

/** A store that fails the reservation of some keys. */
const failing =
  (fails: (key: string) => Error | undefined) =>
  (deps: Deps): Deps => ({
    ...deps,
    reservations: overrideMethods(deps.reservations, {
      reserve: async (...request) => {
        const error = fails(request[2]);
        if (error !== undefined) throw error;
        return deps.reservations.reserve(...request);
      },
    }),
  });

describe('a message', () => {
  it('starts one run with its body as the input, and the run names the trigger and the message', async () => {
    const { env, start } = await envWith();
    const [outcome] = await start([message('m-7')]);
    if (outcome?.kind !== 'started') throw new Error(`it is ${outcome?.kind}`);
    const head = await env.deps.log.head({ ...scope, runId: outcome.runId });
    if (head === undefined) throw new Error('the run is missing');
    expect(triggerOf(head)).toEqual({ trigger: 'orders', messageId: 'm-7' });
    expect(JSON.stringify(head.commit.events)).toContain('"order":"m-7"');
  });

  it('starts nothing a second time, in one batch and days later, also after its mapping has changed', async () => {
    const { env, start } = await envWith();
    const [first] = runIds(await start([message('m'), message('m')]));
    env.ports.clock.advance(days(20));
    const again = await start([message('m')], { input: { order: 'another' } });
    expect(again).toEqual([{ kind: 'started', runId: first, isReplay: true }]);
  });

  it('of another trigger, or with the key of a request, starts a run of its own', async () => {
    const { env, start } = await envWith();
    const requested = await env.start({ workflowName: workflowName('flow'), input: { order: 'x' }, idempotencyKey: 'm' });
    const [one] = runIds(await start([message('m')]));
    const [other] = runIds(await start([message('m')], { name: 'invoices' }));
    expect(new Set([requested.kind === 'started' ? requested.runId : '', one, other]).size).toBe(3);
  });

  it.each([
    ['its input is invalid', {}, { input: {} }, 'input_invalid', '/input/order: '],
    ['its body is not JSON', { body: 'no' }, {}, 'not_json', 'not JSON'],
    ['the workflow does not exist', {}, { workflowName: workflowName('none') }, 'no_active_deployment', 'no published workflow'],
    ['the version does not exist', {}, { version: 9 }, 'version_not_found', 'version of the trigger'],
  ] as const)('is refused if %s, and the other messages start', async (_why, changed, of, code, part) => {
    const { start } = await envWith();
    const outcomes = await start([message('bad', changed)], of);
    expect(outcomes).toEqual([{ kind: 'refused', code, message: expect.stringContaining(part) }]);
    if ('body' in changed)
      expect(kinds(await start([message('a'), message('bad', changed), message('c')], of))).toEqual([
        'started',
        'refused',
        'started',
      ]);
  });

  it('is free again after a refusal, so that it starts when it is sent again', async () => {
    const { start } = await envWith();
    expect(kinds(await start([message('m')], { version: 9 }))).toEqual(['refused']);
    expect(kinds(await start([message('m')]))).toEqual(['started']);
  });
});

describe('an error', () => {
  it('that is temporary leaves its message in the queue, and no other', async () => {
    const { start } = await envWith(failing((key) => (key === 'm1' ? new Unavailable('a store') : undefined)));
    expect(kinds(await start(messages(3)))).toEqual(['started', 'retry', 'started']);
  });

  it('that is unexpected holds back its own message only', async () => {
    const broken = new Error('a bug');
    const { start } = await envWith(failing((key) => (key === 'm1' ? broken : undefined)));
    const outcomes = await start(messages(3));
    expect(kinds(outcomes)).toEqual(['started', 'retry', 'started']);
    expect(outcomes[1]).toEqual({ kind: 'retry', error: broken });
  });

  it.each([
    [new Unavailable('a store'), 'unavailable'],
    [new Error('a bug'), 'internal'],
  ])('becomes the reason of a dead letter at the last delivery: %s', async (error, code) => {
    const { start } = await envWith(failing(() => error));
    expect(kinds(await start([message('m', { receives: 19 })], { maxReceives: 20 }))).toEqual(['retry']);
    expect(await start([message('m', { receives: 20 })], { maxReceives: 20 })).toEqual([
      { kind: 'refused', code, message: expect.stringContaining('no delivery of 20') },
    ]);
    expect(kinds(await start([message('m', { receives: 500 })]))).toEqual(['retry']);
  });
});

describe('a FIFO queue', () => {
  it('starts the messages of a group one after the other, and those of different groups together', async () => {
    const reserved: string[] = [];
    const { start } = await envWith(
      failing((key) => {
        reserved.push(key);
        return undefined;
      }),
    );
    await start([
      message('a1', { groupId: 'a' }),
      message('a2', { groupId: 'a' }),
      message('b1', { groupId: 'b' }),
      message('a3', { groupId: 'a' }),
    ]);
    expect(reserved).toEqual(['a1', 'b1', 'a2', 'a3']);
  });

  it('keeps the later messages of a group back behind one that comes again, and not behind a refused one', async () => {
    const { start } = await envWith(failing((key) => (key === 'a1' ? new Unavailable('a store') : undefined)));
    const outcomes = await start([
      message('a1', { groupId: 'a' }),
      message('b1', { groupId: 'b', body: 'no' }),
      message('a2', { groupId: 'a' }),
      message('b2', { groupId: 'b' }),
    ]);
    expect(kinds(outcomes)).toEqual(['retry', 'refused', 'retry', 'started']);
  });
});
