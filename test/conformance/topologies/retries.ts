/** Retries: which causes are retried, after which delay, and what happens after the last attempt. */
import { expect } from 'vitest';
import { failureCauses, retryableCauses } from '../../../lib/engine/retry.ts';
import { minutes, seconds } from '../../../lib/engine/time.ts';
import { type Topology, finishedWith, failedWith, takes, names } from '../topology.ts';

const everyCause = [...retryableCauses];

/** Attempts cannot fail with a propagated failure; `propagate-chain` covers it. */
const ofAttempts = failureCauses.filter((cause) => cause !== 'upstream_failure');

const byCause = ofAttempts.map((cause): Topology => {
  const isRetried = retryableCauses.some((one) => one === cause);
  return {
    name: `retry-cause-${cause.replaceAll('_', '-')}`,
    description: isRetried
      ? `A failure with cause ${cause} is retried when the policy names the cause, and the retry succeeds.`
      : `A failure with cause ${cause} is not retried, even if the policy names it.`,
    edges: ['start -> a -> end'],
    nodes: { a: { retry: { attempts: 2, retryOn: everyCause } } },
    replies: { a: [failedWith(cause), finishedWith('a')] },
    verify: ({ runsOf, status, of }) => {
      expect([runsOf('a'), status]).toEqual(isRetried ? [2, 'completed'] : [1, 'failed']);
      expect(of('node.retried', 'a')).toMatchObject(isRetried ? [{ attempt: 1, failure: { cause } }] : []);
    },
  };
});

const unnamed = retryableCauses.map((cause): Topology => ({
  name: `retry-cause-${cause.replaceAll('_', '-')}-unnamed`,
  description: `A failure with cause ${cause} is not retried when the policy names only other causes.`,
  edges: ['start -> a -> end'],
  nodes: { a: { retry: { attempts: 3, retryOn: everyCause.filter((one) => one !== cause) } } },
  replies: { a: failedWith(cause) },
  verify: ({ runsOf, status }) => expect([runsOf('a'), status]).toEqual([1, 'failed']),
}));

export const retries: readonly Topology[] = [
  ...byCause,
  ...unnamed,
  {
    name: 'retries-used-up',
    description: 'A node fails after three attempts, with waits of one and two seconds between them.',
    edges: ['start -> a -> next', 'a/error -> rescue'],
    replies: { a: failedWith() },
    verify: ({ runsOf, of, statusOf }) => {
      expect([runsOf('a'), runsOf('rescue'), statusOf('next')]).toEqual([3, 1, 'skipped']);
      expect(of('node.retried', 'a').map(({ delayMs }) => delayMs)).toEqual([1_000, 2_000]);
    },
  },
  {
    name: 'retries-before-the-workflow-fails',
    description: 'A node that fails the workflow gets all attempts of its policy first.',
    edges: ['start -> a -> next'],
    nodes: { a: { errorHandling: 'fail_workflow' } },
    replies: { a: failedWith() },
    verify: ({ runsOf, status }) => expect([runsOf('a'), status]).toEqual([3, 'failed']),
  },
  {
    name: 'retries-up-to-the-cap',
    description: 'The retry wait doubles until it reaches its cap.',
    edges: ['start -> a'],
    nodes: { a: { retry: { attempts: 6, backoffMs: 1_000, maxBackoffMs: 5_000 } } },
    replies: { a: [failedWith(), failedWith(), failedWith(), failedWith(), failedWith(), finishedWith('a')] },
    verify: ({ of, status }) => {
      expect(of('node.retried').map(({ delayMs }) => delayMs)).toEqual([1_000, 2_000, 4_000, 5_000, 5_000]);
      expect(status).toBe('completed');
    },
  },
  {
    name: 'retry-after',
    description:
      'A retry waits as long as the called service requests, beyond the cap of the policy and the maximum delay of a queue.',
    edges: ['start -> a'],
    replies: { a: [failedWith('rate_limit', minutes(20)), finishedWith('a')] },
    verify: ({ of, status }) => expect([of('node.retried')[0]?.['delayMs'], status]).toEqual([1_200_000, 'completed']),
  },
  {
    name: 'retry-within-the-worker',
    description: 'The worker itself waits for a retry delay of less than one second.',
    edges: ['start -> a'],
    nodes: { a: { retry: { attempts: 2, backoffMs: 200 } } },
    replies: { a: [failedWith(), finishedWith('a')] },
    verify: ({ of }) => expect(of('node.retried')).toMatchObject([{ delayMs: 200, via: 'inline' }]),
  },
  {
    name: 'retry-in-wide-fan-out',
    description: 'A collected branch is retried alone, and its second result is collected too.',
    edges: names(9, 'b').map((id) => `start -> ${id} -> join`),
    replies: { b4: [failedWith('provider_error'), finishedWith('b4')] },
    verify: ({ of, runsOf }) => {
      expect(of('node.retried', 'b4')).toMatchObject([{ via: 'collect' }]);
      expect([runsOf('b4'), runsOf('join')]).toEqual([2, 1]);
    },
  },
  {
    name: 'retry-past-the-deadline',
    description: 'A node fails without a retry when the next attempt would start after the run’s deadline.',
    edges: ['start -> a', 'a/error -> rescue'],
    nodes: { a: { retry: { attempts: 5, backoffMs: 60_000, maxBackoffMs: 3_600_000 } } },
    options: { deadlineSeconds: 150 },
    replies: { a: failedWith() },
    verify: ({ runsOf, status }) => expect([runsOf('a'), runsOf('rescue'), status]).toEqual([2, 1, 'completed']),
  },
  {
    name: 'time-limit',
    description: 'An attempt that exceeds its time limit is aborted and fails as timed out.',
    edges: ['start -> a -> next', 'a/error -> rescue'],
    nodes: { a: { timeoutSeconds: 10, retry: { attempts: 1 } } },
    replies: { a: takes(minutes(10)) },
    verify: ({ of, statusOf, runsOf }) => {
      expect([statusOf('a'), runsOf('rescue')]).toEqual(['timed_out', 1]);
      expect(of('node.timed_out', 'a')).toMatchObject([{ failure: { cause: 'timeout' } }]);
    },
  },
  {
    name: 'time-limit-then-well',
    description: 'An attempt that times out is retried, and the second attempt succeeds.',
    edges: ['start -> a -> end'],
    nodes: { a: { timeoutSeconds: 10 } },
    replies: { a: [takes(minutes(10)), takes(seconds(3))] },
    verify: ({ of, status }) => {
      expect(of('node.retried', 'a')).toMatchObject([{ failure: { cause: 'timeout' } }]);
      expect([of('node.timed_out').length, status]).toEqual([0, 'completed']);
    },
  },
  {
    name: 'time-limit-without-a-way-on',
    description: 'A timed-out node without an error edge fails the run with the cause timeout.',
    edges: ['start -> a -> next'],
    nodes: { a: { timeoutSeconds: 1, retry: { attempts: 1 } } },
    replies: { a: takes(minutes(1)) },
    verify: ({ of, status }) => {
      expect(status).toBe('failed');
      expect(of('run.failed')).toMatchObject([{ error: { cause: 'timeout', details: { nodeId: 'a' } } }]);
    },
  },
];
