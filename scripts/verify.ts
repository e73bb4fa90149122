/** `npm run verify -- --url https://… --key sw_…`: runs the end-to-end checks against an installation. Exits with status 1 if a check fails. */
import * as z from 'zod';
import { parseOptionsOrExit, wholeNumber } from './options.ts';
import { checks, startApiChecks } from './verify-checks.ts';

const fromEnvironment = process.env['STEPWELL_API_KEY'];
const {
  url,
  key,
  timeout,
  'start-url': startUrl,
} = parseOptionsOrExit({
  usage: `usage: npm run verify -- --url <https://…> --key <sw_…> [--start-url <https://…>] [--timeout <seconds>]   (or the key in STEPWELL_API_KEY)`,
  options: {
    url: { type: 'string' },
    key: { type: 'string', ...(fromEnvironment === undefined ? {} : { default: fromEnvironment }) },
    'start-url': { type: 'string' },
    timeout: { type: 'string', default: '60' },
  },
  shape: z.object({
    url: z.url({ protocol: /^https?$/ }),
    key: z.string().min(1),
    'start-url': z.url({ protocol: /^https?$/ }).optional(),
    timeout: wholeNumber,
  }),
});
const installation = {
  url: url.replace(/\/+$/, ''),
  apiKey: key,
  uniqueSuffix: Date.now().toString(36),
  runTimeoutMs: timeout * 1_000,
};
const all = [...checks, ...(startUrl === undefined ? [] : startApiChecks(startUrl.replace(/\/+$/, '')))];
let failed = 0;
for (const check of all) {
  try {
    await check.run(installation);
    console.log(`ok    ${check.name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${check.name}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
console.log(`${all.length - failed} of ${all.length} checks passed`);
process.exitCode = failed === 0 ? 0 : 1;
