export { asData, block, dataRule, oneLine } from "../../common/task-data.js";
