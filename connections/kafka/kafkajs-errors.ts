// Errors of the protocol that kafkajs 2.2.4 has no names for, and that newer versions of requests
// bring: without a name they would be errors of an unknown kind.
import { internals } from "./kafkajs-internals.ts";

const { errors } = internals;

const unnamed = [
  { type: "PRODUCER_FENCED", code: 90, message: "There is a newer producer with the same transactionalId" },
  {
    type: "TRANSACTION_ABORTABLE",
    code: 120,
    message: "The transaction can't be committed and has to be aborted; the producer may go on after that",
  },
];

export const errorOfCode = (code: number): Error => errors.createErrorFromCode(code);

export function patchErrors(): void {
  for (const error of unnamed)
    if (!errors.errorCodes.some(({ code }) => code === error.code))
      errors.errorCodes.push({ ...error, retriable: false });
}
