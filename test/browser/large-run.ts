/** A large run as the API would return it, served to a page without a cloud that executes it. */
import type { Page, Route } from 'playwright-core';

export const largeRunId = 'wrun_01KDVDNA0001ZPGCE7HQSG6B6B';
const origin = Date.parse('2026-11-26T12:00:00.000Z');
const at = (ms: number): string => new Date(origin + ms).toISOString();

export interface LargeRun {
  readonly nodes: number;
  readonly events: number;
}

const idOf = (index: number): string => `node-${String(index).padStart(4, '0')}`;

/** Each attempt has two events: it was queued, and it completed. */
const eventOf = (eventId: number) => {
  const attempt = Math.floor((eventId - 1) / 2);
  const isEnd = eventId % 2 === 0;
  const iteration = `lines[${attempt}]`;
  const payload = isEnd
    ? {
        nodeId: 'price',
        iteration,
        attempt: 1,
        output: { value: attempt * 3, of: 'order-17' },
        handle: 'output',
        startedAt: at(attempt * 5),
        endedAt: at(attempt * 5 + 4),
      }
    : { nodeId: 'price', iteration, attempt: 1, via: 'collect', wave: 2 };
  return {
    eventId,
    sequence: eventId,
    type: isEnd ? 'node.completed' : 'node.queued',
    runId: largeRunId,
    workflowId: 'large',
    timestamp: at(attempt * 5),
    correlation: { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', wave: 2 },
    payload,
  };
};

function answerTo(url: URL, { nodes, events }: LargeRun): unknown {
  const { pathname, searchParams } = url;
  const after = Number(searchParams.get('after') ?? 0);
  if (pathname.endsWith('/events')) {
    const limit = Number(searchParams.get('limit') ?? 200);
    const count = Math.max(0, Math.min(limit, events - after));
    const data = Array.from({ length: count }, (_, index) => eventOf(after + index + 1));
    return { data, cursor: String(after + count), hasMore: after + count < events };
  }
  if (pathname.endsWith('/timeline')) {
    const limit = Number(searchParams.get('limit') ?? 1_000);
    const attempts = Math.floor(events / 2);
    const from = Math.floor(after / 2);
    const count = Math.max(0, Math.min(limit, attempts - from));
    const rows = Array.from({ length: count }, (_, index) => {
      const attempt = from + index;
      return [0, `lines[${attempt}]`, 1, attempt * 5, attempt * 5 + 1, attempt * 5 + 4, 'completed', null, 2 * attempt + 2];
    });
    const hasMore = from + count < attempts;
    return { runId: largeRunId, origin: at(0), nodes: ['price'], rows, cursor: String(2 * (from + count)), hasMore };
  }
  const all = Array.from({ length: nodes }, (_, index) => idOf(index));
  if (pathname.endsWith('/definition'))
    return {
      runId: largeRunId,
      workflowName: 'large',
      version: 1,
      nodes: all.map((id) => ({ id, type: 'javascript', label: `Step ${id}`, config: {} })),
      // Two parents each, in layers of about forty.
      edges: all.flatMap((id, index) =>
        index < 40 ? [] : [index - 40, index - 39].map((from) => ({ source: idOf(from), target: id })),
      ),
    };
  return {
    runId: largeRunId,
    status: 'completed',
    workflowName: 'large',
    workflowVersion: 1,
    deploymentId: null,
    specVersion: 1,
    createdAt: at(0),
    deadlineAt: at(86_400_000),
    completedAt: at(events * 5),
    nodes:
      searchParams.get('nodes') === 'none'
        ? []
        : all.map((nodeId) => ({
            nodeId,
            type: 'javascript',
            label: `Step ${nodeId}`,
            status: 'completed',
            attempt: 1,
            durationMs: 4,
          })),
    lastEventId: events,
    commits: events,
  };
}

export interface Served {
  /** bytes of the answers so far */
  bytes: number;
  requests: number;
}

/** Answers the requests for the run; those for anything else reach the cloud. */
export async function serveLargeRun(page: Page, run: LargeRun): Promise<Served> {
  const served: Served = { bytes: 0, requests: 0 };
  await page.route(`**/v1/runs/${largeRunId}**`, async (route: Route) => {
    const body = JSON.stringify(answerTo(new URL(route.request().url()), run));
    served.bytes += Buffer.byteLength(body);
    served.requests += 1;
    await route.fulfill({ status: 200, contentType: 'application/json', body });
  });
  return served;
}
