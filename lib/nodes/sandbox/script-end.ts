/** Reads what a script thread says. It ran an author's code, so it is believed no more than any other caller. */
import * as z from 'zod';
import { durationMs } from '../../engine/time.ts';
import { type ScriptEnd, scriptFaults } from './script.ts';

const printed = z.array(z.string());

export const scriptEnd: z.ZodType<ScriptEnd> = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('returned'), output: z.string(), printed }),
  z.object({
    kind: z.literal('stopped'),
    fault: z.enum(scriptFaults),
    message: z.string(),
    line: z.number().exactOptional(),
    column: z.number().exactOptional(),
    timeoutMs: z.number().transform(durationMs).exactOptional(),
    path: z.string().exactOptional(),
    printed,
  }),
]);
