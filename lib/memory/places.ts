/** Places of workflows, in memory. */
import type { RunId } from '../engine/ids.ts';
import { type PlacesOf, type TakenPlace, type WaitingRun, inOrder } from '../engine/places.ts';
import type { Instant } from '../engine/time.ts';
import type { Places } from '../ports/places.ts';
import { kept } from './kept.ts';
import { scopeName } from './runs.ts';

interface Room {
  readonly taken: Map<number, RunId>;
  readonly waiting: Map<string, WaitingRun>;
}

export class MemoryPlaces implements Places {
  readonly #rooms = new Map<string, Room>();

  async taken(of: PlacesOf): Promise<readonly TakenPlace[]> {
    const taken = [...this.#room(of).taken].map(([place, runId]) => ({ place, runId }));
    return taken.toSorted((one, other) => one.place - other.place);
  }

  async take(of: PlacesOf, place: number, runId: RunId, _expiresAt: Instant): Promise<boolean> {
    const { taken } = this.#room(of);
    if (!taken.has(place)) taken.set(place, runId);
    return taken.get(place) === runId;
  }

  async free(of: PlacesOf, place: number, runId: RunId): Promise<void> {
    const { taken } = this.#room(of);
    if (taken.get(place) === runId) taken.delete(place);
  }

  async waiting(of: PlacesOf, limit: number): Promise<readonly WaitingRun[]> {
    return [...this.#room(of).waiting.values()].toSorted(inOrder).slice(0, limit);
  }

  async enter(of: PlacesOf, run: WaitingRun, _expiresAt: Instant): Promise<void> {
    this.#room(of).waiting.set(nameOf(run), kept(run));
  }

  async leave(of: PlacesOf, run: Pick<WaitingRun, 'runId' | 'since'>): Promise<void> {
    this.#room(of).waiting.delete(nameOf(run));
  }

  #room(of: PlacesOf): Room {
    const name = `${scopeName(of)}#${of.workflowName}`;
    const known = this.#rooms.get(name) ?? { taken: new Map<number, RunId>(), waiting: new Map<string, WaitingRun>() };
    this.#rooms.set(name, known);
    return known;
  }
}

const nameOf = ({ runId, since }: Pick<WaitingRun, 'runId' | 'since'>): string => `${since}#${runId}`;
