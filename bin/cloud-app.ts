/**
 * The CDK app of the embedded cloud in the package of the command line: the same stacks as bin/stepwell.ts, with the bundles of the
 * package. It does without the rules of cdk-nag, which the repository's own synthesis checks.
 */
import { App } from 'aws-cdk-lib';
import { functionsDirectory } from '../lib/constructs/bundled-functions.ts';
import { parseSettings } from '../lib/stacks/settings.ts';
import { addStacks } from '../lib/stacks/stacks.ts';

const app = new App();
addStacks(app, functionsDirectory(), parseSettings(app.node.getAllContext()));
app.synth();
