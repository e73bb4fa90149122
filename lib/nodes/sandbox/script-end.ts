/** Parses the messages of a script thread. They are untrusted, because the thread ran an author's code. */
import * as z from 'zod';
import { durationMs } from '../../engine/time.ts';
import { type ScriptEnd, scriptErrorCodes, sliceSpent } from './script.ts';

const used = { printed: z.array(z.string()), cpuMs: z.number().min(0) };

export const scriptEnd: z.ZodType<ScriptEnd | { readonly kind: typeof sliceSpent }> = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal(sliceSpent) }),
  z.object({ kind: z.literal('returned'), output: z.string(), ...used }),
  z.object({
    kind: z.literal('stopped'),
    errorCode: z.enum(scriptErrorCodes),
    message: z.string(),
    line: z.number().exactOptional(),
    column: z.number().exactOptional(),
    timeoutMs: z.number().transform(durationMs).exactOptional(),
    path: z.string().exactOptional(),
    ...used,
  }),
]);
