/** The setting `runEvents`: its default depends on what else of the installation receives the ends of runs. */
import { Lazy } from 'aws-cdk-lib';
import { type RunEventsSetting, levelsWith } from '../api/schemas/run-events.ts';
import { runsEnded } from '../contract/metrics.ts';
import type { EndStatus } from './installation.ts';

/** An owner's rule on failures works without a setting. */
const least: RunEventsSetting = 'failed';

export class RunEventsChoice {
  readonly #given: RunEventsSetting | undefined;
  #default: RunEventsSetting = least;
  /** The value as a token, because a rule can be added until the synthesis. */
  readonly value: string;

  /** @param given the setting; undefined: the default applies */
  constructor(given: RunEventsSetting | undefined) {
    this.#given = given;
    this.value = Lazy.uncachedString({ produce: () => this.#given ?? this.#default });
  }

  /**
   * Raises the default, so that the bus gets these ends.
   * @param receiver of the ends, for the error
   * @throws if the setting is lower
   */
  mustInclude(receiver: string, statuses: readonly EndStatus[] = runsEnded.statuses): void {
    const sufficient = levelsWith(statuses);
    const [fewest = least] = sufficient;
    if (this.#given !== undefined && !sufficient.includes(this.#given))
      throw new Error(
        `run_events_too_few: ${receiver} receives runs that ended ${statuses.join(' or ')}, but the setting runEvents is ${this.#given}. Remove the setting, or set it to ${sufficient.join(' or ')}.`,
      );
    // Levels are ordered: what suffices for the default and for this receiver is the higher of both.
    if (!sufficient.includes(this.#default)) this.#default = fewest;
  }
}
