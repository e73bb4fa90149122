/** Looks at a run until it has ended. */
import type { CallOptions } from './ask.ts';
import { TransportComputeClientError } from './errors.ts';
import { type ClientParts, whole } from './options.ts';
import { type EndedRun, type QueryGiven, type Run, isEnded } from './shapes.ts';
import { longer, pause, within } from './within.ts';

/** The first pause between two looks. */
export const firstPollMs = 250;

export interface PollOptions extends CallOptions {
  /** the first wait between two looks in milliseconds, 250; each is half as long again, up to 5 s */
  readonly pollMs?: number;
}

export interface AwaitOptions extends PollOptions {
  /** how long to look at most; without it, until the run has ended */
  readonly timeoutMs?: number;
}

type GetRun = (runId: string, query: QueryGiven<'getRun'>, options: CallOptions) => Promise<Run>;

/** @throws TransportComputeClientError of kind `timeout` when the run has not ended by then */
export async function endOf(
  { sleep, newId }: Pick<ClientParts, 'sleep' | 'newId'>,
  getRun: GetRun,
  runId: string,
  { timeoutMs, pollMs = firstPollMs, ...options }: AwaitOptions,
): Promise<EndedRun> {
  const firstMs = whole('pollMs', pollMs, 1);
  const ended = async (given: CallOptions): Promise<EndedRun> => {
    for (let pauseMs = firstMs; ; pauseMs = longer(pauseMs)) {
      // Values are asked for once, when they are there.
      if (isEnded(await getRun(runId, { resolveData: 'none' }, given))) {
        const run = await getRun(runId, {}, given);
        if (isEnded(run)) return run;
      }
      await pause(sleep, pauseMs, given.signal);
    }
  };
  if (timeoutMs === undefined) return ended(options);
  const { signal, correlationId = newId() } = options;
  const outcome = await within(whole('timeoutMs', timeoutMs, 1), { sleep, signal }, (stop) =>
    ended({ correlationId, signal: stop }),
  );
  if (outcome.isInTime) return outcome.value;
  const message = `${runId} has not ended within ${timeoutMs} ms`;
  throw new TransportComputeClientError({ kind: 'timeout', status: 0, message, correlationId });
}
