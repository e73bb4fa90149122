/** `npm run verify -- --url https://… --key sw_…`: the end-to-end checks against any installation. Ends with 1 if one fails. */
import * as z from 'zod';
import { optionsOrEnd, wholeNumber } from './options.ts';
import { checks } from './verify-checks.ts';

const fromEnvironment = process.env['STEPWELL_API_KEY'];
const { url, key, patience } = optionsOrEnd({
  usage: `usage: npm run verify -- --url <https://…> --key <sw_…> [--patience <seconds>]   (or the key in STEPWELL_API_KEY)`,
  options: {
    url: { type: 'string' },
    key: { type: 'string', ...(fromEnvironment === undefined ? {} : { default: fromEnvironment }) },
    patience: { type: 'string', default: '60' },
  },
  shape: z.object({ url: z.url({ protocol: /^https?$/ }), key: z.string().min(1), patience: wholeNumber }),
});
const at = {
  url: url.replace(/\/+$/, ''),
  apiKey: key,
  mark: Date.now().toString(36),
  patienceMs: patience * 1_000,
};
let failed = 0;
for (const check of checks) {
  try {
    await check.ask(at);
    console.log(`ok    ${check.name}`);
  } catch (trouble) {
    failed += 1;
    console.log(`FAIL  ${check.name}: ${trouble instanceof Error ? trouble.message : String(trouble)}`);
  }
}
console.log(`${checks.length - failed} of ${checks.length} checks passed`);
process.exitCode = failed === 0 ? 0 : 1;
