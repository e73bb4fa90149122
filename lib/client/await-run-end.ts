/** Polls a run until it has ended. */
import type { CallOptions } from './send-request.ts';
import { TransportComputeClientError } from './errors.ts';
import { type ClientConfig, validateInteger } from './options.ts';
import { type EndedRun, type RequestQuery, type Run, isEnded } from './route-types.ts';
import { nextPauseMs, abortableSleep, withTimeout } from './with-timeout.ts';

/** Initial pause between two polls. */
export const firstPollMs = 250;

export interface PollOptions extends CallOptions {
  /** initial pause between two polls in milliseconds, default 250; each pause is 1.5 times longer, up to 5 s */
  readonly pollMs?: number;
}

export interface AwaitOptions extends PollOptions {
  /** maximum time to wait; default: until the run ends */
  readonly timeoutMs?: number;
}

type GetRun = (runId: string, query: RequestQuery<'getRun'>, options: CallOptions) => Promise<Run>;

/** @throws TransportComputeClientError of kind `timeout` if the run has not ended after `timeoutMs` */
export async function awaitRunEnd(
  { sleep, newId }: Pick<ClientConfig, 'sleep' | 'newId'>,
  getRun: GetRun,
  runId: string,
  { timeoutMs, pollMs = firstPollMs, ...options }: AwaitOptions,
): Promise<EndedRun> {
  const firstPauseMs = validateInteger('pollMs', pollMs, 1);
  const pollUntilEnded = async (callOptions: CallOptions): Promise<EndedRun> => {
    for (let pauseMs = firstPauseMs; ; pauseMs = nextPauseMs(pauseMs)) {
      // Input and output are read once, after the end.
      if (isEnded(await getRun(runId, { resolveData: 'none' }, callOptions))) {
        const run = await getRun(runId, {}, callOptions);
        if (isEnded(run)) return run;
      }
      await abortableSleep(sleep, pauseMs, callOptions.signal);
    }
  };
  if (timeoutMs === undefined) return pollUntilEnded(options);
  const { signal, correlationId = newId() } = options;
  const outcome = await withTimeout(validateInteger('timeoutMs', timeoutMs, 1), { sleep, signal }, (timeoutSignal) =>
    pollUntilEnded({ correlationId, signal: timeoutSignal }),
  );
  if (outcome.isInTime) return outcome.value;
  const message = `${runId} did not end within ${timeoutMs} ms`;
  throw new TransportComputeClientError({ kind: 'timeout', status: 0, message, correlationId });
}
