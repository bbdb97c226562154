/** The public interface for plugins' own tests, imported as `helper-gateway/testing`. */
export { call } from './testing/call.js';
export type {
  AnswerFor,
  CallError,
  CallOptions,
  FakeAnswer,
  FakeFetch,
  GivenFile,
  InputFor,
  LoggedLine,
  OptionsFor,
  SentBody,
} from './testing/types.js';
