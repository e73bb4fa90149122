/** The setting `traces`: where the traces of ended runs are sent, read at synthesis and again by the function. It names a secret and holds none. */
import * as z from 'zod';
import { secretArnPattern, secretArnMessage } from '../../contract/secret-arn.ts';

const endpoint = z
  .url({ protocol: /^https?$/, error: 'must be a whole address' })
  .max(500)
  .refine(
    (text) => !/[?#@]/.test(text),
    'must hold no query, no fragment and no user: a credential belongs into header.secretArn',
  )
  .refine(
    (text) => text.startsWith('https:') || ['localhost', '127.0.0.1'].includes(URL.parse(text)?.hostname ?? ''),
    'must begin with https:// (http:// is for localhost and 127.0.0.1 alone)',
  );

export const traceSetting = z.strictObject({
  /** of an OpenTelemetry collector, whole: `https://collector.example.com/v1/traces` */
  endpoint,
  /** what the collector knows the installation by: the text of the secret is the header's value */
  header: z
    .strictObject({
      name: z.string().regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a header'),
      secretArn: z.string().regex(secretArnPattern, secretArnMessage),
    })
    .exactOptional(),
  /** of the traces that no caller asked for by the flag `sampled` */
  samplePercent: z.number().min(1).max(100).default(100),
});
export type TraceSetting = z.output<typeof traceSetting>;
