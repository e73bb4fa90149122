/** Messages between this process and a thread with HTTP bundles. Messages of the thread are parsed, because it runs untrusted code. */
import * as z from 'zod';
import { responseLimits } from './response-limits.ts';

export interface ThreadRequest {
  readonly id: number;
  /** set in the thread's environment before the bundle is called */
  readonly credentialVariables: Readonly<Record<string, string>>;
  /** the bundle's file URL */
  readonly bundle: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text */
  readonly body: string;
}

const id = z.int();
const message = z.string().transform((text) => text.slice(0, responseLimits.message));

export const fromThread = z.discriminatedUnion('kind', [
  /** the bundle is imported; its POST is called next */
  z.object({ kind: z.literal('loaded'), id }),
  z.object({ kind: z.literal('printed'), stream: z.enum(['stdout', 'stderr']), text: z.string() }),
  z.object({ kind: z.literal('responded'), id, status: z.int(), body: z.string() }),
  z.object({ kind: z.literal('threw'), id, message }),
  z.object({ kind: z.literal('unloadable'), id, message }),
]);

export type FromThread = z.input<typeof fromThread>;
