/** The CDK app. Settings come from the context (`cdk.json`, `-c stepwell:<name>=<value>`), see lib/stacks/settings.ts. */
import { App } from 'aws-cdk-lib';
import { addStacks } from '../lib/stacks/app.ts';
import { applyRules } from '../lib/stacks/rules.ts';
import { parseSettings } from '../lib/stacks/settings.ts';
import { buildFunctions, bundleDirectory } from '../scripts/build-functions.ts';

const app = new App();
const settings = parseSettings(app.node.getAllContext());
if (settings.buildsFunctions) await buildFunctions();
addStacks(app, bundleDirectory, settings);
applyRules(app);
app.synth();
