/** Scenarios of called runs that the worker of their caller executes: it needs no message and no sweep for them. */
import { type DurationMs, minutes, seconds } from '../../lib/engine/time.ts';
import type { Job } from '../../lib/ports/jobs.ts';
import { takes } from '../conformance/topology.ts';
import { overrideMethods } from '../service/override-methods.ts';
import { type CrashRunOptions, type FixedWorkflow, crashRun } from './crash-run.ts';
import { fixedTopology } from './fixed-topologies.ts';
import { runInvariant } from './violation.ts';

const quick = seconds(1);

const callsAlone: FixedWorkflow = fixedTopology({
  name: 'calls-alone',
  description: 'A worker executes a node, the run that the next node calls, and the node after it.',
  edges: ['start -> before -> call -> after'],
  nodes: { call: { type: 'subflow', workflowName: 'called' } },
  replies: { before: takes(quick), work: takes(quick), after: takes(quick) },
  calls: [{ name: 'called', edges: ['begin -> work -> more'], nodes: { begin: { type: 'start' } } }],
  verify: () => {},
});

const callsBeside: FixedWorkflow = fixedTopology({
  name: 'calls-beside',
  description: 'The end of a called run reaches a caller that does something else meanwhile.',
  edges: ['start -> call -> after', 'start -> slow'],
  nodes: { call: { type: 'subflow', workflowName: 'called' }, slow: { timeoutSeconds: 840 } },
  replies: { slow: takes(minutes(10)), work: takes(quick) },
  calls: [{ name: 'called', edges: ['begin -> work'], nodes: { begin: { type: 'start' } } }],
  verify: () => {},
});

/** By then no sweep has found what a process left: the first check of a run comes after two minutes. */
const withoutSweep = seconds(60);

interface Observed {
  /** from the first commit until the node has completed */
  readonly tookMs: number;
  readonly sent: readonly Job[];
}

async function until(workflow: FixedWorkflow, node: string, options: CrashRunOptions = {}): Promise<Observed> {
  const sent: Job[] = [];
  let [startedAt, tookMs]: [number | undefined, number] = [undefined, Infinity];
  await crashRun(workflow, {
    ...options,
    planted: (world) => ({
      ...world,
      jobs: overrideMethods(world.jobs, {
        send: async (jobs, hops) => {
          sent.push(...jobs);
          return world.jobs.send(jobs, hops);
        },
        sendDelayed: async (job, delay, hops) => {
          sent.push(job);
          return world.jobs.sendDelayed(job, delay, hops);
        },
      }),
    }),
    onCommit: ({ events }, now) => {
      startedAt ??= now;
      for (const event of events) if (event.type === 'NODE_COMPLETED' && event.nodeId === node) tookMs = now - startedAt;
    },
  });
  return { tookMs, sent };
}

const inTime = (what: string, tookMs: number, most: DurationMs): void =>
  runInvariant(5, tookMs <= most, `${what} took ${tookMs} ms without a fault, so only the sweep found the run`);

/** @throws a violation where a worker sends a message for a call that it takes, or leaves a part of the call to the sweep */
export async function aCallInPlace(): Promise<void> {
  const { tookMs, sent } = await until(callsAlone, 'after');
  inTime('a call in place', tookMs, withoutSweep);
  const messages = sent.flatMap(({ kind }) => (kind === 'node' || kind === 'child' ? [kind] : []));
  runInvariant(
    5,
    messages.length === 1,
    `a call in place needed the messages ${messages.join(', ')}, and not one for the start alone`,
  );
}

/** @throws a violation where the end of a called run does not reach a caller with other work */
export async function aCallBesideOtherWork(): Promise<void> {
  const { tookMs } = await until(callsBeside, 'after');
  inTime('a call beside other work', tookMs, withoutSweep);
}
