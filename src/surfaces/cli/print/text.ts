// Texts for terminals are the same here and in `dibs watch`.

export { cut, padTo, plain, plainLines, widthOf, wrap } from "../../../client/view/text.js";
