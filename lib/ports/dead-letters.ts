/** Messages that a trigger cannot use, for a person to look at and to send again. */

/** An attribute of a message of SQS, with its type there. */
export interface MessageAttribute {
  readonly dataType: string;
  readonly stringValue?: string | undefined;
  /** in base64 */
  readonly binaryValue?: string | undefined;
}

export interface DeadLetter {
  readonly queueUrl: string;
  /** the message as it came */
  readonly body: string;
  readonly attributes: Readonly<Record<string, MessageAttribute>>;
  /** its id, which it keeps when it is sent again */
  readonly messageId: string;
  /** only of a FIFO queue */
  readonly groupId?: string;
  /** a code and a sentence */
  readonly reason: string;
}

export interface DeadLetters {
  /** Throws if the message is not stored there: then it must stay in its queue. */
  send(letter: DeadLetter): Promise<void>;
}
