/** `npm run verify -- --url https://… --key sw_…`: the end-to-end checks against any installation. Ends with 1 if one fails. */
import { parseArgs } from 'node:util';
import { checks } from './verify-checks.ts';

const { values } = parseArgs({
  options: { url: { type: 'string' }, key: { type: 'string' }, patience: { type: 'string', default: '60' } },
});
const apiKey = values.key ?? process.env['STEPWELL_API_KEY'];
if (values.url === undefined || apiKey === undefined) {
  console.error('usage: npm run verify -- --url <https://…> --key <sw_…>   (or the key in STEPWELL_API_KEY)');
  process.exit(2);
}
const at = {
  url: values.url.replace(/\/+$/, ''),
  apiKey,
  mark: Date.now().toString(36),
  patienceMs: Number(values.patience) * 1_000,
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
