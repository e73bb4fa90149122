/** Watch messages, as their queue carries them, and the stored cursor of a watcher. */
import * as z from 'zod';
import type { WatchCursor, Watch } from '../ports/sockets.ts';
import { exactly } from './exact.ts';
import { nonce } from './ids.ts';
import { runAddress } from './jobs.ts';
import { readJson } from './unreadable.ts';

const messageVersion = 1;
const watchMessage = z.strictObject({
  v: z.literal(messageVersion),
  watch: exactly<Watch>()(z.strictObject({ run: runAddress, broadcastId: nonce })),
});

export const watchBody = ({ run: { projectId, environment, runId }, broadcastId }: Watch): string =>
  JSON.stringify({ v: messageVersion, watch: { run: { projectId, environment, runId }, broadcastId } });

/** The watch in a message body; undefined for another kind of message. @throws Unreadable */
export const parseWatch = (text: string): Watch | undefined =>
  text.startsWith(`{"v":${messageVersion},"watch":`) ? readJson('a watch of a run', watchMessage, text).watch : undefined;

export const storedWatchCursor = exactly<WatchCursor>()(
  z.strictObject({ after: z.int().min(0), next: z.record(z.string(), z.int().min(0)) }),
);
