/** A client that cancels child runs while they are running, independently of their parents. */
import type { RunAddress, RunId } from '../../lib/engine/ids.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';
import type { Functions } from './functions.ts';
import type { SimulationContext } from './process.ts';

/** By then a child run exists or has ended. */
const longestMs = 1_500;

export class ChildRunCanceller {
  readonly #around: SimulationContext;
  readonly #functions: Functions;

  constructor(around: SimulationContext, functions: Functions) {
    this.#around = around;
    this.#functions = functions;
  }

  committed(run: RunAddress, { events }: Commit): void {
    for (const event of events) if (event.type === 'SUBFLOW_CALLED') this.#cancelSoon(run, event.childRunId);
  }

  #cancelSoon(caller: RunAddress, runId: RunId): void {
    const { prng, time } = this.#around;
    time.in(prng.whole(1, longestMs), () =>
      this.#functions.invoke('api', async (decider) => void (await cancelRun(decider, { ...caller, runId }, 'asked'))),
    );
  }
}
