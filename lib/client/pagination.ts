/** Reads lists page by page, and follows the events of open runs. */
import type { CallOptions } from './send-request.ts';
import type { ClientConfig } from './options.ts';
import { type ResponseBody, type Run, type RunEvent, isEnded, isFinalEvent } from './route-types.ts';
import { nextPauseMs, abortableSleep } from './with-timeout.ts';

interface Page<Row> {
  readonly data: readonly Row[];
  readonly cursor: string | null;
  readonly hasMore: boolean;
}

/** Returns the first non-empty page, or the last one. A request reads a bounded number of rows, and filters can exclude all of them. */
export async function readFirstNonEmptyPage<Row, Found extends Page<Row>>(
  query: { readonly cursor?: string | undefined },
  readPage: (from: { cursor?: string }) => Promise<Found>,
): Promise<Found> {
  let from: { cursor?: string } = query.cursor === undefined ? {} : { cursor: query.cursor };
  for (;;) {
    const page = await readPage(from);
    if (page.data.length > 0 || !page.hasMore || page.cursor === null) return page;
    from = { cursor: page.cursor };
  }
}

/** Yields rows, and reads each page when its first row is needed. */
export async function* iterateRows<Row>(
  readPage: (from: { cursor?: string }) => Promise<Page<Row>>,
): AsyncGenerator<Row, void, undefined> {
  let from: { cursor?: string } = {};
  for (;;) {
    const { data, cursor, hasMore } = await readPage(from);
    yield* data;
    if (!hasMore || cursor === null) return;
    from = { cursor };
  }
}

export interface RunEventReader {
  readonly readPageAfter: (from: { after?: string }) => Promise<ResponseBody<'listRunEvents'>>;
  readonly readRun: () => Promise<Run>;
}

/** Yields events until the run has ended. */
export async function* followEvents(
  { readPageAfter, readRun }: RunEventReader,
  { sleep }: ClientConfig,
  { after, pollMs, signal }: { readonly after: string | undefined; readonly pollMs: number } & Pick<CallOptions, 'signal'>,
): AsyncGenerator<RunEvent, void, undefined> {
  let from = after === undefined ? {} : { after };
  let pauseMs = pollMs;
  // A caller that continues after the final event receives no event, so the status of the run is read once.
  let hasCheckedRun = false;
  let hasEnded = false;
  for (;;) {
    const { data, cursor, hasMore } = await readPageAfter(from);
    for (const event of data) {
      yield event;
      if (isFinalEvent(event)) return;
    }
    from = { after: cursor };
    if (data.length > 0) pauseMs = pollMs;
    if (hasMore) continue;
    if (hasEnded) return;
    if (data.length === 0 && !hasCheckedRun) {
      hasCheckedRun = true;
      hasEnded = isEnded(await readRun());
      // Read one more page for events written in between.
      if (hasEnded) continue;
    }
    await abortableSleep(sleep, pauseMs, signal);
    pauseMs = nextPauseMs(pauseMs);
  }
}
