/** Announces to one stream the starts that no commit records, each once. */
import type { NodeKey, RunAddress } from '../../engine/ids.ts';
import { type DerivedEvent, attemptName, unrecordedStarts } from '../../engine/log/derived-events.ts';
import type { Heartbeat } from '../../engine/log/heartbeat-timeout.ts';
import type { RunIdentity } from '../../engine/log/public-event.ts';
import type { RunState } from '../../engine/log/run-state.ts';
import { type Instant, after, seconds } from '../../engine/time.ts';
import type { Deps } from '../deps.ts';
import { readRecordedStarts } from '../run-log/recorded-starts.ts';

/** A stream polls more often, but the heartbeats of a wide fan-out are many items. */
const heartbeatReadInterval = seconds(5);

export class StartAnnouncer {
  readonly #deps: Pick<Deps, 'log' | 'clock'>;
  readonly #run: RunAddress;
  readonly #announced = new Set<string>();
  #heartbeats: ReadonlyMap<NodeKey, Heartbeat> = new Map();
  #nextReadAt: Instant | undefined;

  constructor(deps: Pick<Deps, 'log' | 'clock'>, run: RunAddress) {
    this.#deps = deps;
    this.#run = run;
  }

  /** @param last the id of the last event that the stream has sent */
  async poll(runInfo: RunIdentity, state: RunState, last: number): Promise<readonly DerivedEvent[]> {
    const now = this.#deps.clock.now();
    if (this.#nextReadAt === undefined || this.#nextReadAt <= now) {
      this.#heartbeats = await readRecordedStarts(
        this.#deps,
        this.#run,
        state,
        (node) => !this.#announced.has(attemptName(node)),
      );
      this.#nextReadAt = after(now, heartbeatReadInterval);
    }
    return unrecordedStarts(runInfo, state, { now, last, announced: this.#announced, heartbeats: this.#heartbeats });
  }
}
