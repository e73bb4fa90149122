/** The CDK app. Settings come from the context (`cdk.json`, `-c stepwell:<name>=<value>`), see lib/stacks/settings.ts. */
import { App } from 'aws-cdk-lib';
import { addCheckedStacks } from '../lib/stacks/checked-stacks.ts';
import { parseSettings } from '../lib/stacks/settings.ts';
import { buildFunctions, bundleDirectory } from '../scripts/build-functions.ts';

const app = new App();
const settings = parseSettings(app.node.getAllContext());
if (settings.buildsFunctions) await buildFunctions();
addCheckedStacks(app, bundleDirectory, settings);
app.synth();
