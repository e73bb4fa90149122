/** Attributes of the messages of triggers. A message that comes back from the dead-letter queue has both. */

/** The id of the message at its first delivery. SQS gives a message that it moves back a new id. */
export const originalIdAttribute = 'stepwell-message-id';
/** Why the message started nothing: a code and a sentence. */
export const reasonAttribute = 'stepwell-reason';
/** SQS's maximum for one message. */
export const maxMessageAttributes = 10;
