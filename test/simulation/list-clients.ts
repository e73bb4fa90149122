/** Clients that list runs. A list, current or stale, must show only runs of its own environment, and no ended run as open. */
import type { Scope } from '../../lib/engine/ids.ts';
import { terminalStatuses } from '../../lib/engine/log/head.ts';
import { type RunFilters, listRuns } from '../../lib/service/runs/list-runs.ts';
import type { Checker } from './checker.ts';
import type { Functions } from './functions.ts';
import type { SimulationContext } from './process.ts';
import { paceOf } from './simulated-ports.ts';
import { runInvariant } from './violation.ts';

interface ListClientParts {
  readonly around: SimulationContext;
  readonly functions: Functions;
  readonly checker: Checker;
  readonly isQuiet: () => boolean;
}

/** All runs, and those of each state that has a list of its own. */
const lists: readonly RunFilters[] = [
  {},
  { status: 'failed' },
  { status: 'cancelled' },
  { attention: 'waiting' },
  { attention: 'retrying' },
];

/** The time between two list requests: short enough to see the stale state of an index. */
const betweenLooksMs = [30_000, 900_000] as const;

export class ListClients {
  readonly #parts: ListClientParts;

  constructor(parts: ListClientParts) {
    this.#parts = parts;
  }

  listRuns(scopes: readonly Scope[]): void {
    const { prng, time } = this.#parts.around;
    this.#list(prng.pick(scopes), prng.isLucky(0.5) ? {} : prng.pick(lists));
    const pauseMs = prng.whole(...betweenLooksMs) * paceOf(time.now);
    time.in(pauseMs, () => (this.#parts.isQuiet() ? undefined : this.listRuns(scopes)));
  }

  #list(scope: Scope, filters: RunFilters): void {
    const { checker, functions } = this.#parts;
    const ends = new Map(checker.runs.map(({ address }) => [address.runId, checker.endOf(address.runId)] as const));
    functions.invoke('api', async ({ deps }) => {
      const { runs } = await listRuns(deps, scope, filters, { limit: 10 });
      for (const run of runs) {
        if ('external' in run) throw new Error('the simulation has no external-worker runs');
        const { head, status } = run;
        const { runId, environment } = head.address;
        runInvariant(10, environment === scope.environment, `${runId} is listed in another environment`);
        const asked = filters.status;
        runInvariant(2, asked === undefined || status === asked, `${runId} is listed as ${status} in the list of ${asked} runs`);
        // What ended while the list was made may be shown as it was.
        const ended = ends.get(runId) ?? (hasEnded(status) ? checker.endOf(runId) : undefined);
        runInvariant(2, ended === undefined || status === ended, `${runId} ended as ${ended}, and is listed as ${status}`);
        const isOver = filters.attention !== undefined && ends.get(runId) !== undefined;
        runInvariant(2, !isOver, `${runId} has ended, and is listed as ${filters.attention}`);
      }
    });
  }
}

const hasEnded = (status: string): boolean => terminalStatuses.some((each) => each === status);
