/** What the process that puts the embedded cloud under load prints. */
import * as z from 'zod';

export const underLoadShape = z.strictObject({
  throughput: z.array(z.looseObject({ measure: z.string(), values: z.array(z.number()).readonly() })).readonly(),
  idle: z.strictObject({ megabytes: z.number(), percent: z.number() }),
});
export type UnderLoad = z.infer<typeof underLoadShape>;
