/** Watches a run over a WebSocket, as a web page does: opens it with a ticket and resumes after the last event id when it reconnects. */

interface Watched {
  readonly apiUrl: string;
  /** the stack output SocketUrl */
  readonly socketUrl: string;
  readonly runId: string;
  readonly apiKey: string;
}

interface Frame {
  readonly type: string;
  readonly eventId?: number;
  readonly code?: string;
  readonly payload?: Readonly<Record<string, unknown>>;
}

/** Calls `onFrame` for each frame, in order, until the run has ended. */
export async function watchRun(watched: Watched, onFrame: (frame: Frame) => void): Promise<void> {
  let after = 0;
  const next = new Map<unknown, number>();
  for (;;) {
    const hasEnded = await watchOnce(watched, after, (frame) => {
      const { nodeId, deltaIndex } = frame.payload ?? {};
      // Frames can repeat after a reconnect: drop known ones.
      if (frame.type === 'node.stream.delta') {
        if (typeof deltaIndex !== 'number' || deltaIndex < (next.get(nodeId) ?? 0)) return;
        next.set(nodeId, deltaIndex + 1);
      } else if (frame.eventId !== undefined) {
        if (frame.eventId <= after) return;
        after = frame.eventId;
      }
      onFrame(frame);
    });
    if (hasEnded) return;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}

/** Resolves when the connection is lost, or when the run has ended and all its events were received. */
async function watchOnce({ apiUrl, socketUrl, runId, apiKey }: Watched, after: number, onFrame: (frame: Frame) => void) {
  // A web page requests the ticket from its own server: an API key must not be in a browser.
  const headers = { authorization: `Bearer ${apiKey}` };
  const answer = await fetch(`${apiUrl}/v1/runs/${runId}/tickets`, { method: 'POST', headers });
  const { ticket }: { ticket: string } = JSON.parse(await answer.text());
  const socket = new WebSocket(`${socketUrl}?runId=${runId}&ticket=${ticket}`);
  return new Promise<boolean>((resolve, reject) => {
    socket.onopen = () => socket.send(JSON.stringify({ action: 'join', runId, after }));
    socket.onmessage = ({ data }) => {
      const frame: Frame = JSON.parse(String(data));
      if (frame.type === 'error') reject(new Error(frame.code));
      onFrame(frame);
      if (frame.type === 'left' || frame.type === 'error') socket.close();
      if (frame.type === 'left') resolve(true);
    };
    socket.onclose = () => resolve(false);
  });
}
