/** Custom resource that creates the first admin key, registers the configured keys and stores large settings during a deployment. */
import { CustomResource, Duration } from 'aws-cdk-lib';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { FirstKeySetting, SeedKeySetting } from '../api/schemas/seed-keys.ts';
import { checkLength } from './ranges.ts';
import type { StoredSetting } from './settings.ts';

export interface FirstKeyProps {
  /** the first-key function, which responds to CloudFormation itself */
  readonly provisioner: lambda.IFunction;
  /** the secret that receives the first key */
  readonly secretArn: string;
  readonly firstKey: FirstKeySetting;
  readonly seedKeys: readonly SeedKeySetting[];
  readonly storedSettings: readonly StoredSetting[];
}

/**
 * Maximum size of the properties as JSON. CloudFormation invokes the function asynchronously, with at most 1 MB, and an update
 * contains the old and the new properties. The limit also keeps each setting below the 400 KB of a DynamoDB item.
 */
export const maxSettingsBytes = 400_000;

export class FirstKey extends Construct {
  readonly resource: CustomResource;

  constructor(scope: Construct, id: string, { provisioner, secretArn, firstKey, seedKeys, storedSettings }: FirstKeyProps) {
    super(scope, id);
    // As a JSON string, because CloudFormation converts numbers in properties to strings. Contains secret names and digests, never a key.
    const largeProperties = { SeedKeys: JSON.stringify(seedKeys), Settings: JSON.stringify(storedSettings) };
    checkLength(this, {
      name: 'seedKeys, webhooks, secrets, models, moderation, databases and codeVariables together',
      text: JSON.stringify(largeProperties),
      maxBytes: maxSettingsBytes,
    });
    this.resource = new CustomResource(this, 'Keys', {
      resourceType: 'Custom::StepwellKeys',
      serviceToken: provisioner.functionArn,
      // Without it, CloudFormation waits an hour for a function that crashed.
      serviceTimeout: Duration.minutes(5),
      properties: { SecretArn: secretArn, FirstKey: JSON.stringify(firstKey), ...largeProperties },
    });
  }
}
