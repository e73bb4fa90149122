/** CloudFormation's own rules for the templates. They take longer than all other rules; `npm run synth` applies them too. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { addCheckedStacks } from '../../lib/stacks/checked-stacks.ts';
import { parseSettings } from '../../lib/stacks/settings.ts';
import { cdkContext, emptyBundles, newFolder } from './synthesized.ts';

const report = z.object({
  pluginReports: z.array(z.object({ violations: z.array(z.looseObject({ ruleName: z.string(), severity: z.string() })) })),
});

// A single synchronous call of ten seconds of processor time, more on a loaded machine.
test('the CDK’s validation rules report nothing for the templates', { timeout: 600_000 }, () => {
  const app = new App({ outdir: newFolder(), context: cdkContext });
  addCheckedStacks(app, emptyBundles(), parseSettings({}));
  const { directory } = app.synth();
  const { pluginReports } = report.parse(JSON.parse(readFileSync(join(directory, 'validation-report.json'), 'utf8')));
  expect(pluginReports.flatMap(({ violations }) => violations)).toEqual([]);
});
