/** Scenarios of redelivered messages: each one checks its run, and the messages that a check sends may be redelivered too. */
import { type DurationMs, days, minutes, seconds } from '../../lib/engine/time.ts';
import type { Job } from '../../lib/ports/jobs.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { takes } from '../conformance/topology.ts';
import { overrideMethods } from '../service/override-methods.ts';
import { crashRun } from './crash-run.ts';
import { noFaults } from './faults.ts';
import { fixedTopology } from './fixed-topologies.ts';
import { type CodeWorkflow, leafNames } from './random-code.ts';
import { simulate } from './simulation.ts';
import type { VirtualTime } from './virtual-time.ts';
import { runInvariant } from './violation.ts';

/** Counts delayed messages by subject in each time span. */
class Left {
  readonly #span: DurationMs;
  readonly #about: (job: Job) => string | undefined;
  readonly #counts = new Map<string, number>();

  constructor(span: DurationMs, about: (job: Job) => string | undefined) {
    this.#span = span;
    this.#about = about;
  }

  within(world: Deps, time: VirtualTime): Deps {
    const sendDelayed: Deps['jobs']['sendDelayed'] = async (job, wait) => {
      const about = this.#about(job);
      if (about !== undefined) this.#count(`${about} in span ${Math.floor(time.now / this.#span)}`);
      return world.jobs.sendDelayed(job, wait);
    };
    return { ...world, jobs: overrideMethods(world.jobs, { sendDelayed }) };
  }

  #count(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  /** @throws a violation where a span had more messages about one subject, or where there were none */
  check(most: number): void {
    runInvariant(5, this.#counts.size > 0, 'no delayed message was sent');
    for (const [name, count] of this.#counts)
      runInvariant(5, count <= most, `${count} delayed messages were sent about ${name}; the limit is ${most}`);
  }
}

const callsOfOne = 40;
const manyCalls: CodeWorkflow = {
  name: 'many-calls',
  mostAttempts: 1,
  isIdempotent: false,
  part: { kind: 'all', parts: Array.from({ length: callsOfOne }, () => ({ kind: 'child', name: leafNames.graph, ms: 0 })) },
};

/**
 * For each call one by the call itself, one by the run that was called when it ends, and some of looks: a batch whose messages die
 * together is looked at by several at the same time, and the batches die one after the other. Where every look asks it is forty.
 */
const mostAsked = callsOfOne * 10;

/** @throws a violation where each redelivered message causes a check of all child runs */
export async function manyUncollectableChildResults(): Promise<void> {
  const called = new Set<string>();
  const left = new Left(days(1), ({ kind }) => (kind === 'child' ? 'the child runs' : undefined));
  await simulate({
    seed: 7,
    rates: noFaults,
    runs: 1,
    codes: [manyCalls],
    planted: (world, time) => left.within(world, time),
    observed: (by, reached) => {
      if (by !== 'collect') return reached;
      const head: Deps['log']['head'] = async (run) => {
        if (called.has(run.runId)) throw new Unavailable('a log');
        return reached.log.head(run);
      };
      return { ...reached, log: overrideMethods(reached.log, { head }) };
    },
    onCommit: (_run, { events }) => {
      for (const event of events) if (event.type === 'SUBFLOW_CALLED') called.add(event.childRunId);
    },
  });
  left.check(mostAsked);
}

const branches = Array.from({ length: 20 }, (_, index) => `quick-${index + 1}`);
const long = { timeoutSeconds: 840 };
const isLong = takes(minutes(12));
const besideLongOnes = fixedTopology({
  name: 'beside-long-ones',
  description: 'A run whose short branches come back again and again goes on with its long one.',
  edges: ['start -> slow -> slower -> slowest', ...branches.map((branch) => `start -> ${branch}`)],
  nodes: { slow: long, slower: long, slowest: long },
  replies: {
    slow: isLong,
    slower: isLong,
    slowest: isLong,
    ...Object.fromEntries(branches.map((branch) => [branch, takes(seconds(3))])),
  },
  verify: () => {},
});

/** One per heartbeat timeout, and those of concurrent redeliveries. */
const mostNudges = 10;

/** @throws a violation where each redelivered message sends its own rechecks while its run is open */
export async function redeliveriesDuringLongWork(): Promise<void> {
  const left = new Left(seconds(150), ({ kind }) => (kind === 'recheck' ? 'rechecks' : undefined));
  await crashRun(besideLongOnes, {
    chaos: { seed: 7, rates: { ...noFaults, undeleted: 0.7 } },
    planted: (world, time) => left.within(world, time),
  });
  left.check(mostNudges);
}
