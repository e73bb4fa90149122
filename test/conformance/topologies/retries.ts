/** Attempts: which causes are repeated, after which wait, and what happens when they are used up. */
import { expect } from 'vitest';
import { failureCauses, retryableCauses } from '../../../lib/engine/retry/causes.ts';
import { minutes, seconds } from '../../../lib/engine/time.ts';
import { type Topology, done, fails, lasting, names } from '../topology.ts';

const everyCause = [...retryableCauses];

/** A failure that was handed on is no attempt's: `propagate-chain` has it. */
const ofAttempts = failureCauses.filter((cause) => cause !== 'upstream_failure');

const byCause = ofAttempts.map((cause): Topology => {
  const isRetried = retryableCauses.some((one) => one === cause);
  return {
    name: `retry-cause-${cause.replaceAll('_', '-')}`,
    says: isRetried
      ? `A failure of cause ${cause} is tried again where the policy names the cause, and ends well.`
      : `A failure of cause ${cause} is not tried again, whatever the policy names.`,
    edges: ['start -> a -> end'],
    nodes: { a: { retry: { attempts: 2, retryOn: everyCause } } },
    replies: { a: [fails(cause), done('a')] },
    holds: ({ runsOf, status, of }) => {
      expect([runsOf('a'), status]).toEqual(isRetried ? [2, 'completed'] : [1, 'failed']);
      expect(of('node.retried', 'a')).toMatchObject(isRetried ? [{ attempt: 1, failure: { cause } }] : []);
    },
  };
});

const unnamed = retryableCauses.map((cause): Topology => ({
  name: `retry-cause-${cause.replaceAll('_', '-')}-unnamed`,
  says: `A failure of cause ${cause} is not tried again where the policy names only the other causes.`,
  edges: ['start -> a -> end'],
  nodes: { a: { retry: { attempts: 3, retryOn: everyCause.filter((one) => one !== cause) } } },
  replies: { a: fails(cause) },
  holds: ({ runsOf, status }) => expect([runsOf('a'), status]).toEqual([1, 'failed']),
}));

export const retries: readonly Topology[] = [
  ...byCause,
  ...unnamed,
  {
    name: 'retries-used-up',
    says: 'Three attempts, a second and two seconds apart, are all there are; then the failure stands.',
    edges: ['start -> a -> next', 'a/error -> rescue'],
    replies: { a: fails() },
    holds: ({ runsOf, of, statusOf }) => {
      expect([runsOf('a'), runsOf('rescue'), statusOf('next')]).toEqual([3, 1, 'skipped']);
      expect(of('node.retried', 'a').map(({ delayMs }) => delayMs)).toEqual([1_000, 2_000]);
    },
  },
  {
    name: 'retries-before-the-workflow-fails',
    says: 'A node that fails the workflow is tried as often as any other before it does.',
    edges: ['start -> a -> next'],
    nodes: { a: { errorHandling: 'fail_workflow' } },
    replies: { a: fails() },
    holds: ({ runsOf, status }) => expect([runsOf('a'), status]).toEqual([3, 'failed']),
  },
  {
    name: 'retries-up-to-the-cap',
    says: 'The wait doubles up to its cap and stays there.',
    edges: ['start -> a'],
    nodes: { a: { retry: { attempts: 6, backoffMs: 1_000, maxBackoffMs: 5_000 } } },
    replies: { a: [fails(), fails(), fails(), fails(), fails(), done('a')] },
    holds: ({ of, status }) => {
      expect(of('node.retried').map(({ delayMs }) => delayMs)).toEqual([1_000, 2_000, 4_000, 5_000, 5_000]);
      expect(status).toBe('completed');
    },
  },
  {
    name: 'retry-after',
    says: 'A wait that the other side asks for is waited out, beyond the cap of the policy and beyond a queue’s longest delay.',
    edges: ['start -> a'],
    replies: { a: [fails('rate_limit', minutes(20)), done('a')] },
    holds: ({ of, status }) => expect([of('node.retried')[0]?.['delayMs'], status]).toEqual([1_200_000, 'completed']),
  },
  {
    name: 'retry-within-the-worker',
    says: 'A wait of less than a second is spent in the worker.',
    edges: ['start -> a'],
    nodes: { a: { retry: { attempts: 2, backoffMs: 200 } } },
    replies: { a: [fails(), done('a')] },
    holds: ({ of }) => expect(of('node.retried')).toMatchObject([{ delayMs: 200, via: 'inline' }]),
  },
  {
    name: 'retry-in-a-crowd',
    says: 'A branch that is collected with many others is repeated by itself, and its second result is collected too.',
    edges: names(9, 'b').map((id) => `start -> ${id} -> join`),
    replies: { b4: [fails('provider_error'), done('b4')] },
    holds: ({ of, runsOf }) => {
      expect(of('node.retried', 'b4')).toMatchObject([{ via: 'collect' }]);
      expect([runsOf('b4'), runsOf('join')]).toEqual([2, 1]);
    },
  },
  {
    name: 'retry-past-the-deadline',
    says: 'An attempt that would begin after the deadline of the run is not waited for: the failure stands.',
    edges: ['start -> a', 'a/error -> rescue'],
    nodes: { a: { retry: { attempts: 5, backoffMs: 60_000, maxBackoffMs: 3_600_000 } } },
    options: { deadlineSeconds: 150 },
    replies: { a: fails() },
    holds: ({ runsOf, status }) => expect([runsOf('a'), runsOf('rescue'), status]).toEqual([2, 1, 'completed']),
  },
  {
    name: 'time-limit',
    says: 'An attempt that takes longer than its limit is aborted as timed out, which is no other failure.',
    edges: ['start -> a -> next', 'a/error -> rescue'],
    nodes: { a: { timeoutSeconds: 10, retry: { attempts: 1 } } },
    replies: { a: lasting(minutes(10)) },
    holds: ({ of, statusOf, runsOf }) => {
      expect([statusOf('a'), runsOf('rescue')]).toEqual(['timed_out', 1]);
      expect(of('node.timed_out', 'a')).toMatchObject([{ failure: { cause: 'timeout' } }]);
    },
  },
  {
    name: 'time-limit-then-well',
    says: 'An attempt that is timed out is tried again, and the second one ends well.',
    edges: ['start -> a -> end'],
    nodes: { a: { timeoutSeconds: 10 } },
    replies: { a: [lasting(minutes(10)), lasting(seconds(3))] },
    holds: ({ of, status }) => {
      expect(of('node.retried', 'a')).toMatchObject([{ failure: { cause: 'timeout' } }]);
      expect([of('node.timed_out').length, status]).toEqual([0, 'completed']);
    },
  },
  {
    name: 'time-limit-without-a-way-on',
    says: 'A time limit that is passed without an error edge fails the run with its cause.',
    edges: ['start -> a -> next'],
    nodes: { a: { timeoutSeconds: 1, retry: { attempts: 1 } } },
    replies: { a: lasting(minutes(1)) },
    holds: ({ of, status }) => {
      expect(status).toBe('failed');
      expect(of('run.failed')).toMatchObject([{ error: { cause: 'timeout', details: { nodeId: 'a' } } }]);
    },
  },
];
