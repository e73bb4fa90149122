/** `npm run verify -- --url https://… --key sw_…`: runs the end-to-end checks against an installation. Exits with status 1 if a check fails. */
import * as z from 'zod';
import { parseOptionsOrExit, wholeNumber } from './options.ts';
import { checks } from './verify-checks.ts';

const fromEnvironment = process.env['STEPWELL_API_KEY'];
const { url, key, timeout } = parseOptionsOrExit({
  usage: `usage: npm run verify -- --url <https://…> --key <sw_…> [--timeout <seconds>]   (or the key in STEPWELL_API_KEY)`,
  options: {
    url: { type: 'string' },
    key: { type: 'string', ...(fromEnvironment === undefined ? {} : { default: fromEnvironment }) },
    timeout: { type: 'string', default: '60' },
  },
  shape: z.object({ url: z.url({ protocol: /^https?$/ }), key: z.string().min(1), timeout: wholeNumber }),
});
const installation = {
  url: url.replace(/\/+$/, ''),
  apiKey: key,
  uniqueSuffix: Date.now().toString(36),
  runTimeoutMs: timeout * 1_000,
};
let failed = 0;
for (const check of checks) {
  try {
    await check.run(installation);
    console.log(`ok    ${check.name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${check.name}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
console.log(`${checks.length - failed} of ${checks.length} checks passed`);
process.exitCode = failed === 0 ? 0 : 1;
