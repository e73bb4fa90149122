/** The Bedrock client. It is apart from the other clients because it is large and only loaded on demand. */
import { BedrockRuntimeClient } from '@aws-sdk/client-bedrock-runtime';

/** The node defines attempts and time limits, so the client makes one attempt. */
export const bedrockClient = (): BedrockRuntimeClient => new BedrockRuntimeClient({ maxAttempts: 1 });
