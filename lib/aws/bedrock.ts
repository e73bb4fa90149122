/** How this program talks to Bedrock. A file of its own: its client is large, and only who asks a model loads it. */
import { BedrockRuntimeClient } from '@aws-sdk/client-bedrock-runtime';

/** Attempts and time limits are the node's, so the client has none of its own. */
export const bedrockClient = (): BedrockRuntimeClient => new BedrockRuntimeClient({ maxAttempts: 1 });
