/** The setting `traces`: the collector for traces of ended runs. Synthesis and the function read it. It names a secret, and contains none. */
import * as z from 'zod';
import { secretArnPattern, secretArnMessage } from '../../contract/secret-arn.ts';

const endpoint = z
  .url({ protocol: /^https?$/, error: 'must be a complete address' })
  .max(500)
  .refine((text) => !/[?#@]/.test(text), 'must contain no query, fragment or user; put credentials in header.secretArn')
  .refine(
    (text) => text.startsWith('https:') || ['localhost', '127.0.0.1'].includes(URL.parse(text)?.hostname ?? ''),
    'must begin with https:// (http:// is allowed only for localhost and 127.0.0.1)',
  );

export const traceSetting = z.strictObject({
  /** complete address of an OpenTelemetry collector: `https://collector.example.com/v1/traces` */
  endpoint,
  /** authenticates the installation: the text of the secret is the value of the header */
  header: z
    .strictObject({
      name: z.string().regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a header'),
      secretArn: z.string().regex(secretArnPattern, secretArnMessage),
    })
    .exactOptional(),
  /** percentage of the traces that are sent without the flag `sampled` of a caller */
  samplePercent: z.number().min(1).max(100).default(100),
});
export type TraceSetting = z.output<typeof traceSetting>;
