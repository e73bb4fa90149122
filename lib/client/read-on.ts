/** Lists that are longer than a page, and those that are still being written. */
import type { CallOptions } from './ask.ts';
import type { ClientParts } from './options.ts';
import { type Answer, type Run, type RunEvent, isEnded, isLast } from './shapes.ts';
import { longer, pause } from './within.ts';

interface Page<Row> {
  readonly data: readonly Row[];
  readonly cursor: string | null;
  readonly hasMore: boolean;
}

/** The first page that has a row, or the last one: a request reads a bounded number of rows, and filters may leave out all of them. */
export async function firstWithRows<Row, Found extends Page<Row>>(
  query: { readonly cursor?: string | undefined },
  pageAt: (from: { cursor?: string }) => Promise<Found>,
): Promise<Found> {
  let from: { cursor?: string } = query.cursor === undefined ? {} : { cursor: query.cursor };
  for (;;) {
    const page = await pageAt(from);
    if (page.data.length > 0 || !page.hasMore || page.cursor === null) return page;
    from = { cursor: page.cursor };
  }
}

/** Row by row; a page is asked for when its first row is wanted. */
export async function* rowsOf<Row>(
  pageAt: (from: { cursor?: string }) => Promise<Page<Row>>,
): AsyncGenerator<Row, void, undefined> {
  let from: { cursor?: string } = {};
  for (;;) {
    const { data, cursor, hasMore } = await pageAt(from);
    yield* data;
    if (!hasMore || cursor === null) return;
    from = { cursor };
  }
}

export interface EventSource {
  readonly pageAfter: (from: { after?: string }) => Promise<Answer<'listRunEvents'>>;
  readonly run: () => Promise<Run>;
}

/** Event by event, until the run has ended. */
export async function* followEvents(
  { pageAfter, run }: EventSource,
  { sleep }: ClientParts,
  { after, pollMs, signal }: { readonly after: string | undefined; readonly pollMs: number } & Pick<CallOptions, 'signal'>,
): AsyncGenerator<RunEvent, void, undefined> {
  let from = after === undefined ? {} : { after };
  let pauseMs = pollMs;
  // Whoever goes on from the very end sees no last event: the run itself says that there will be none.
  let hasAskedRun = false;
  let hasEnded = false;
  for (;;) {
    const { data, cursor, hasMore } = await pageAfter(from);
    for (const event of data) {
      yield event;
      if (isLast(event)) return;
    }
    from = { after: cursor };
    if (data.length > 0) pauseMs = pollMs;
    if (hasMore) continue;
    if (hasEnded) return;
    if (data.length === 0 && !hasAskedRun) {
      hasAskedRun = true;
      hasEnded = isEnded(await run());
      // What came in between is on one more page.
      if (hasEnded) continue;
    }
    await pause(sleep, pauseMs, signal);
    pauseMs = longer(pauseMs);
  }
}
